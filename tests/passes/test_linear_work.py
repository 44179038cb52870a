"""Compiling costs per nest, not per pair of nests: calls are counted, not seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from cProfile import Profile

import pytest

import gpucodegen as gcg
from gpucodegen.compiling.pipeline import front_passes, mapping_passes
from gpucodegen.dialects.verifier import verify
from gpucodegen.options import Options
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.contraction.fusion_groups import (
    FusionGroups,
    FusionMember,
)
from gpucodegen.passes.loops.improve_locality import ImproveLocality

COUNTS = (2, 4, 8)
PRODUCT = """
affine.for %i = 0 to {n} {{ affine.for %j = 0 to {n} {{ affine.for %k = 0 to {n} {{
  %a = affine.load %A{at}[%i, %k] : memref<{n}x{n}xf32>
  %b = affine.load %A{at}[%k, %j] : memref<{n}x{n}xf32>
  %c = affine.load %B{at}[%i, %j] : memref<{n}x{n}xf32>
  %p = arith.mulf %a, %b : f32
  %s = arith.addf %c, %p : f32
  affine.store %s, %B{at}[%i, %j] : memref<{n}x{n}xf32>
}} }} }}"""
TRANSPOSE = """
affine.for %i = 0 to {n} {{ affine.for %j = 0 to {n} {{
  %a = affine.load %A{at}[%j, %i] : memref<{n}x{n}xf32>
  affine.store %a, %B{at}[%i, %j] : memref<{n}x{n}xf32>
}} }}"""
RELAX = """
affine.for %t = 0 to 20 {{
  affine.for %i = 1 to {n} - 1 {{ affine.for %j = 1 to {n} - 1 {{
    %a = affine.load %A{at}[%i - 1, %j] : memref<{n}x{n}xf32>
    %b = affine.load %A{at}[%i, %j + 1] : memref<{n}x{n}xf32>
    %s = arith.addf %a, %b : f32
    affine.store %s, %B{at}[%i, %j] : memref<{n}x{n}xf32>
  }} }}
  affine.for %i = 1 to {n} - 1 {{ affine.for %j = 1 to {n} - 1 {{
    %b = affine.load %B{at}[%i, %j] : memref<{n}x{n}xf32>
    affine.store %b, %A{at}[%i, %j] : memref<{n}x{n}xf32>
  }} }}
}}""".replace("{n} - 1", "{last}")
ROWS = """
%t{at} = memref.alloc() : memref<{n}xf32>
affine.for %i = 0 to {n} {{
  affine.for %j = 0 to {n} {{
    %a = affine.load %A{at}[%i, %j] : memref<{n}x{n}xf32>
    affine.store %a, %t{at}[%j] : memref<{n}xf32>
  }}
  affine.for %j = 0 to {n} {{
    %a = affine.load %t{at}[{last} - %j] : memref<{n}xf32>
    affine.store %a, %B{at}[%i, %j] : memref<{n}x{n}xf32>
  }}
}}"""
VECTORS = """
%t{at} = memref.alloc() : memref<{n}xf32>
affine.for %i = 0 to {n} {{
  affine.for %j = 0 to {n} {{
    %c = affine.load %B{at}[%i, %j] : memref<{n}x{n}xf32>
    affine.store %c, %t{at}[%j] : memref<{n}xf32>
    affine.for %k = 0 to {n} {{
      %a = affine.load %A{at}[%i, %k] : memref<{n}x{n}xf32>
      %b = affine.load %B{at}[%k, %j] : memref<{n}x{n}xf32>
      %t = affine.load %t{at}[%j] : memref<{n}xf32>
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %t, %p : f32
      affine.store %s, %t{at}[%j] : memref<{n}xf32>
    }}
  }}
  affine.for %j = 0 to {n} {{
    %t = affine.load %t{at}[%j] : memref<{n}xf32>
    affine.store %t, %A{at}[%i, %j] : memref<{n}x{n}xf32>
  }}
}}"""
SHARED = """
affine.for %i = 1 to {last} {{ affine.for %j = 1 to {last} {{
  %a = affine.load %A0[%i, %j] : memref<{n}x{n}xf32>
  %b = affine.load %B0[%i - 1, %j + 1] : memref<{n}x{n}xf32>
  %s = arith.addf %a, %b : f32
  affine.store %s, %B0[%i, %j] : memref<{n}x{n}xf32>
}} }}"""
SUM = """
affine.for %i = 0 to {n} {{
  %z = arith.constant 0.0 : f32
  %s = affine.for %j = 0 to {n} iter_args(%t = %z) -> (f32) {{
    %a = affine.load %A{at}[%i, %j] : memref<{n}x{n}xf32>
    %u = arith.addf %t, %a : f32
    affine.yield %u : f32
  }}
  affine.store %s, %B{at}[%i, 0] : memref<{n}x{n}xf32>
}}"""
ALIKE = """
affine.for %i = 0 to {n} {{ affine.for %j = 0 to {n} {{
  %a = affine.load %A0[%i, %j] : memref<{n}x{n}xf32>
  %b = affine.load %B0[%j, %i] : memref<{n}x{n}xf32>
  %s = arith.addf %a, %b : f32
  affine.store %s, %A1[%i, %j] : memref<{n}x{n}xf32>
}} }}"""
NAMED = """
linalg.matmul
  ins(%A{at}, %A0 : memref<{n}x{n}xf32>, memref<{n}x{n}xf32>)
  outs(%B{at} : memref<{n}x{n}xf32>)"""
NESTS = {
    "product": PRODUCT,
    "transpose": TRANSPOSE,
    "relax": RELAX,
    "rows": ROWS,
    "vectors": VECTORS,
    "shared": SHARED,
    "sum": SUM,
    "named": NAMED,
}


def program(nest: str, count: int, extent: int = 200) -> str:
    """Nests of one form, those that have ``at`` on arrays of their own."""
    buffers = ", ".join(
        f"%{array}{at}: memref<{extent}x{extent}xf32>"
        for at in range(count)
        for array in "AB"
    )
    body = (nest.format(at=at, n=extent, last=extent - 1) for at in range(count))
    return f"func.func @f({buffers}) {{{''.join(body)}\nreturn }}"


@contextmanager
def counting(work: Counter[str], name: str) -> Iterator[None]:
    """Count the calls of Python functions meanwhile."""
    profile = Profile(builtins=False)
    with profile:
        yield
    work[name] += sum(entry.callcount for entry in profile.getstats())


def calls(text: str, arguments: int) -> Counter[str]:
    """The calls that each pass makes."""
    work: Counter[str] = Counter()
    with counting(work, "parse"):
        module = gcg.parse(text)
    passes = [
        *front_passes("f", (None,) * arguments),
        *mapping_passes("cpu", Options(threads=1)),
    ]
    for one in passes:
        with counting(work, one.name):
            module = one.apply(module)
    with counting(work, "verify"):
        verify(module.operation)
    return work


def growth(work: Callable[[int], int], counts: Sequence[int] = COUNTS) -> float:
    """The work of the last nests over that of those before: 2 linear, 4 quadratic."""
    few, some, many = map(work, counts)
    return (many - some) / max(some - few, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", NESTS)
def test_work_is_linear_in_the_number_of_nests(name: str):
    calls(program(NESTS[name], 1), 2)
    found = {n: calls(program(NESTS[name], n), 2 * n) for n in COUNTS}
    work = {n: passes.total() for n, passes in found.items()}
    assert growth(work.__getitem__) < 2.3, work
    most = [each for each, seen in found[8].items() if seen > work[8] / 50]
    steep = {each: growth(lambda n, each=each: found[n][each]) for each in most}
    assert max(steep.values()) < 3, steep
    assert {"map-cpu", "improve-locality"} <= set(steep)


STATEMENT = """
  %a{at} = affine.load %A[%i, %j + {at}] : memref<99x99xf32>
  %b{at} = arith.addf %a{at}, %a{at} : f32
  affine.store %b{at}, %A[%i, %j + {next}] : memref<99x99xf32>"""


def test_statements_that_are_shifts_of_each_other_are_asked_about_once():
    def asked(count: int) -> int:
        body = (STATEMENT.format(at=at, next=at + 1) for at in range(count))
        module = gcg.parse(f"""func.func @f(%A: memref<99x99xf32>) {{
          affine.for %i = 0 to 99 {{ affine.for %j = 0 to 50 {{ {"".join(body)} }} }}
          return
        }}""")
        operations = module.functions["f"].body.operations
        found = analyse(operations[:1])
        assert len(found.dependences) > count * count
        return found.model.solver.asked

    assert growth(asked, (10, 20, 40)) < 2.3


def test_a_block_without_contractions_is_walked_once():
    class Counted(list[FusionMember]):
        walks = 0

        def __iter__(self) -> Iterator[FusionMember]:
            Counted.walks += 1
            return super().__iter__()

    module = gcg.parse(program(SUM, 4))
    operations = module.functions["f"].body.operations
    FusionGroups(
        Counted(map(FusionMember, operations)), lambda _: None, {}
    ).all_mapped()
    assert Counted.walks <= 1


@pytest.mark.slow
def test_nests_that_may_all_be_one_are_fused_in_groups():
    def work(count: int) -> int:
        module, seen = gcg.parse(program(ALIKE, count)), Counter[str]()
        with counting(seen, "fusion"):
            ImproveLocality().apply(module)
        return seen["fusion"]

    assert growth(work, (10, 20, 40)) < 2.5


def test_quadratic_work_is_seen():
    assert growth(lambda n: 100 + 3 * n) == 2
    assert growth(lambda n: 100 + 3 * n * n) == 4


DEEP = """
func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %x0 = stablehlo.negate %x : tensor<8x8xf32>
  {layers}
  return %x{last} : tensor<8x8xf32>
}}"""
LAYER = """
  %s{at} = stablehlo.reduce(%x{at} init: %zero) applies stablehlo.add
    across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %b{at} = stablehlo.broadcast_in_dim %s{at}, dims = [0]
    : (tensor<8xf32>) -> tensor<8x8xf32>
  %x{next} = stablehlo.add %x{at}, %b{at} : tensor<8x8xf32>"""


def test_fusion_on_tensors_is_linear_in_the_depth():
    """Each layer reads the one before twice: as a tree the result has 2^n nodes."""

    def calls(depth: int) -> int:
        layers = "".join(LAYER.format(at=n, next=n + 1) for n in range(depth))
        module = gcg.parse(DEEP.format(layers=layers, last=depth))
        passes = [p for p in front_passes("f", (None,)) if p.name != "check-bounds"]
        names = [p.name for p in passes]
        for pass_ in passes[: names.index("fuse-tensors")]:
            module = pass_.apply(module)
        with Profile() as profile:
            passes[names.index("fuse-tensors")].apply(module)
        return sum(entry.callcount for entry in profile.getstats())

    few, many = calls(10), calls(40)
    assert many < 8 * few
