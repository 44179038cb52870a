"""Which memrefs may be the same memory: one answer, which the lifting shares."""

from __future__ import annotations

from itertools import combinations

import pytest
from lowering import apply

import gpucodegen as gcg
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.tiling.model.scop import loops, statements

M = "memref<8xf32>"
TABLE = {
    "arguments": ("", "%A %B", ""),
    "arguments of one group": ("", "%G %H", "%G%H"),
    "two allocations": (
        f"%x = memref.alloc() : {M}\n%y = memref.alloc() : {M}",
        "%x %y %A",
        "",
    ),
    "a view of a view": (
        f"""%x = memref.cast %A : {M} to memref<?xf32>
        %y = memref.cast %x : memref<?xf32> to {M}""",
        "%A %B %y",
        "%A%y",
    ),
    "a view and a group": (
        f"%x = memref.assume_alignment %G, 16 : {M}",
        "%x %H %A",
        "%x%H",
    ),
    "globals": (
        f"""%x = memref.get_global @one : {M}
        %y = memref.get_global @one : {M}
        %z = memref.get_global @two : {M}""",
        "%x %y %z",
        "%x%y",
    ),
    "one of two": (
        f"%x = arith.select %c, %A, %B : {M}",
        "%x %A %B %G",
        "%x%A %x%B",
    ),
    "what branches yield": (
        f"""%x = scf.if %c -> ({M}) {{
          scf.yield %A : {M}
        }} else {{
          scf.yield %B : {M}
        }}
        %y = scf.if %c -> ({M}) {{
          scf.yield %B : {M}
        }} else {{
          scf.yield %G : {M}
        }}""",
        "%x %y %A %H",
        "%x%y %x%A %y%H",
    ),
    "what a function returns": (
        f"""%x = call @own({"%A"}) : ({M}) -> {M}
        %y = memref.alloc() : {M}""",
        "%x %A %B %y",
        "%x%A %x%B",
    ),
}


def _text(body: str) -> str:
    group = "{gcg.alias_group = distinct[0]<>}"
    return f"""
    memref.global @one : {M} = dense<0.0>
    memref.global @two : {M} = dense<0.0>
    func.func @own(%a: {M}) -> {M} {{
      return %a : {M}
    }}
    func.func @f(%A: {M}, %B: {M}, %G: {M} {group}, %H: {M} {group}, %c: i1) {{
      {body}
      func.return
    }}"""


def _values(function: Operation) -> dict[str, Value]:
    block = function.regions[0].blocks[0]
    made = [v for op in block.operations for v in op.results]
    return {f"%{v.name}": v for v in (*block.arguments, *made)}


@pytest.mark.cases("case", TABLE)
def test_pairs_of_memrefs(case: str):
    body, names, expected = TABLE[case]
    module = gcg.parse(_text(body))
    values = _values(module.functions["f"])
    aliases = Surroundings.of(module).aliases
    pairs = list(combinations(names.split(), 2))
    found = {one + o for one, o in pairs if aliases.may_overlap(values[one], values[o])}
    assert found == set(expected.split())


@pytest.mark.cases("case", [c for c in TABLE if "function" not in c])
def test_the_lifting_joins_the_same_ones(case: str):
    """Memrefs that may overlap are one array of the scop."""
    body, names, expected = TABLE[case]
    stores = "".join(
        f"affine.store %v, {n}[{at}] : {M}\n" for at, n in enumerate(names.split())
    )
    text = _text(f"%v = arith.constant 1.0 : f32\n{body}\n{stores}")
    module = gcg.parse(text)
    lifted = lift_function(module.functions["f"], Surroundings.of(module))
    arrays = {
        f"%{op.operands[1].name}": access.array
        for statement in statements(lifted.scop.body)
        for op, access in zip(
            lifted.operations[statement.name], statement.accesses, strict=True
        )
        if op.name == "affine.store"
    }
    for one, other in combinations(names.split(), 2):
        joined = arrays[one] == arrays[other]
        assert joined or one + other not in expected.split()


def test_shared_memory_of_a_kernel_is_one_buffer():
    module = gcg.parse("""
    gpu.module @m {
      gpu.func @k(%A: memref<8xf32>) kernel {
        %x = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
        %y = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
        gpu.return
      }
    }""")
    x, y = (op.result for op in module.walk() if op.name == "gpu.dynamic_shared_memory")
    assert Surroundings.of(module).aliases.may_overlap(x, y)


def test_stores_are_carried_past_those_to_another_buffer():
    """A branch chooses among others: scalar replacement needs nothing more."""
    module = gcg.parse(
        _text(f"""%x = scf.if %c -> ({M}) {{
          scf.yield %B : {M}
        }} else {{
          scf.yield %G : {M}
        }}
        affine.for %j = 1 to 8 {{
          %a = affine.load %A[%j - 1] : {M}
          %b = arith.addf %a, %a : f32
          affine.store %b, %A[%j] : {M}
          affine.store %a, %x[%j] : {M}
        }}""")
    )
    assert "iter_args" in str(apply("carry-stores", str(module)))
    same = str(module).replace("yield %B", "yield %A")
    assert "iter_args" not in str(apply("carry-stores", same))


VIEWS = {
    "offset": """
      %v = memref.subview %x[2, 0] [%n, 4] [1, 1] :
        memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: 8>>
      %e = memref.dim %v, %zero : memref<?x4xf32, strided<[4, 1], offset: 8>>""",
    "strides": """
      %v = memref.subview %x[0, 0] [%n, 4] [%s, 1] :
        memref<?x4xf32> to memref<?x4xf32, strided<[?, 1]>>
      %e = memref.dim %v, %zero : memref<?x4xf32, strided<[?, 1]>>""",
    "reduced": """
      %v = memref.subview %x[0, 1] [%n, 1] [1, 1] :
        memref<?x4xf32> to memref<?xf32, strided<[4], offset: 1>>
      %e = memref.dim %v, %zero : memref<?xf32, strided<[4], offset: 1>>""",
    "cast": """
      %v = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 2], strides: [%s, 1] :
        memref<?x4xf32> to memref<?x2xf32, strided<[?, 1]>>
      %e = memref.dim %v, %zero : memref<?x2xf32, strided<[?, 1]>>""",
}


@pytest.mark.parametrize("view", VIEWS)
def test_extents_of_views_are_their_sizes(view: str):
    """Loops up to them are counted: unknown bounds would hide what is awaited."""
    module = gcg.parse(f"""func.func @f(%x: memref<?x4xf32>, %n: index, %s: index) {{
      %zero = arith.constant 0 : index
      {VIEWS[view]}
      %number = arith.constant 1.0 : f32
      affine.for %time = 0 to 2 {{
        affine.for %i = 0 to %e {{
          affine.store %number, %x[%i, 0] : memref<?x4xf32>
        }}
      }}
      return
    }}""")
    lifted = lift_function(module.functions["f"], Surroundings.of(module))
    assert [loop.uppers for loop in loops(lifted.scop.body)] == [("2",), ("n",)]
