"""Tiles held in fast memory: same results, the loop structure, exact refusals."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lowering import apply, names

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.dma import ends_of
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Products are exact, so fused or not they are the same; sums are rounded."""
    scale = np.exp2(rng.integers(-6, 6, shape))
    return (rng.integers(-999, 1000, shape) * scale).astype(np.float32)


LOOPS = "affine.for %{} = {} to {} {{"


def loops(*ranges: tuple[str, object, object], body: str) -> str:
    heads = [LOOPS.format(*r) for r in ranges]
    return "\n".join([*heads, body, *["}"] * len(heads)])


def function(arguments: str, body: str) -> str:
    return f"func.func @f({arguments}) {{\n{body}\nreturn\n}}"


class Matmul:
    tiles = 3

    @staticmethod
    def text(m: int, n: int, k: int) -> str:
        a, b, c = (f"memref<{x}x{y}xf32>" for x, y in ((m, k), (k, n), (m, n)))
        body = f"""%a = affine.load %A[%i, %k] : {a}
          %b = affine.load %B[%k, %j] : {b}
          %c = affine.load %C[%i, %j] : {c}
          %p = arith.mulf %a, %b : f32
          %s = arith.addf %c, %p : f32
          affine.store %s, %C[%i, %j] : {c}"""
        nest = loops(("i", 0, m), ("j", 0, n), ("k", 0, k), body=body)
        return function(f"%A: {a}, %B: {b}, %C: {c}", nest)

    @staticmethod
    def arrays(rng: np.random.Generator, m: int, n: int, k: int) -> list[np.ndarray]:
        return [numbers(rng, s) for s in ((m, k), (k, n), (m, n))]

    @staticmethod
    def oracle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        for k in range(a.shape[1]):
            c += a[:, k, None] * b[k]


class SymbolicMatmul(Matmul):
    @staticmethod
    def text(m: int, n: int, k: int) -> str:
        text = Matmul.text(m, n, k)
        for shape in {f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"}:
            text = text.replace(f"memref<{shape}x", "memref<?x?x")
        sizes = "\n".join(
            f"%{d} = memref.dim %{x}, %{p} : memref<?x?xf32>"
            for d, x, p in (("M", "A", "c0"), ("K", "A", "c1"), ("N", "B", "c1"))
        )
        numbers = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
        first = text.index("affine.for")
        body = text[first:]
        for iv, extent, name in (("i", m, "M"), ("j", n, "N"), ("k", k, "K")):
            body = body.replace(f"%{iv} = 0 to {extent} ", f"%{iv} = 0 to %{name} ")
        return text[:first] + numbers + sizes + "\n" + body


class Transposed:
    tiles = 2

    @staticmethod
    def text(m: int, n: int, k: int) -> str:
        del k
        a, b = f"memref<{m}x{n}xf32>", f"memref<{n}x{m}xf32>"
        body = f"""%a = affine.load %A[%i, %j] : {a}
          affine.store %a, %B[%j, %i] : {b}"""
        return function(f"%A: {a}, %B: {b}", loops(("i", 0, m), ("j", 0, n), body=body))

    @staticmethod
    def arrays(rng: np.random.Generator, m: int, n: int, k: int) -> list[np.ndarray]:
        del k
        return [numbers(rng, s) for s in ((m, n), (n, m))]

    @staticmethod
    def oracle(a: np.ndarray, b: np.ndarray) -> None:
        b[...] = a.T


class Stencil:
    tiles = 2

    @staticmethod
    def text(m: int, n: int, k: int) -> str:
        del k
        a = f"memref<{m + 2}x{n + 2}xf32>"
        body = f"""%w = affine.load %A[%i, %j - 1] : {a}
          %e = affine.load %A[%i, %j + 1] : {a}
          %n = affine.load %A[%i - 1, %j] : {a}
          %s = affine.load %A[%i + 1, %j] : {a}
          %x = arith.addf %w, %e : f32
          %y = arith.addf %n, %s : f32
          %z = arith.addf %x, %y : f32
          affine.store %z, %B[%i, %j] : {a}"""
        nest = loops(("i", 1, m + 1), ("j", 1, n + 1), body=body)
        return function(f"%A: {a}, %B: {a}", nest)

    @staticmethod
    def arrays(rng: np.random.Generator, m: int, n: int, k: int) -> list[np.ndarray]:
        del k
        return [numbers(rng, (m + 2, n + 2)) for _ in "AB"]

    @staticmethod
    def oracle(a: np.ndarray, b: np.ndarray) -> None:
        across, along = a[1:-1, :-2] + a[1:-1, 2:], a[:-2, 1:-1] + a[2:, 1:-1]
        b[1:-1, 1:-1] = across + along


class Triangular:
    """y += L x with the lower triangle of L."""

    tiles = 1

    @staticmethod
    def text(m: int, n: int, k: int) -> str:
        del n, k
        a, v = f"memref<{m}x{m}xf32>", f"memref<{m}xf32>"
        body = f"""%l = affine.load %L[%i, %j] : {a}
          %x = affine.load %X[%j] : {v}
          %y = affine.load %Y[%i] : {v}
          %p = arith.mulf %l, %x : f32
          %s = arith.addf %y, %p : f32
          affine.store %s, %Y[%i] : {v}"""
        inner = LOOPS.format("j", 0, "affine_map<(d0) -> (d0 + 1)>(%i)")
        nest = loops(("i", 0, m), body=f"{inner}\n{body}\n}}")
        return function(f"%L: {a}, %X: {v}, %Y: {v}", nest)

    @staticmethod
    def arrays(rng: np.random.Generator, m: int, n: int, k: int) -> list[np.ndarray]:
        del n, k
        return [numbers(rng, s) for s in ((m, m), (m,), (m,))]

    @staticmethod
    def oracle(matrix: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        for j in range(len(x)):
            y[j:] += matrix[j:, j] * x[j]


class Recurrence:
    """A[i, j] = A[i - 1, j] + A[i, j - 1]: the tile takes in its upper left border."""

    tiles = 2

    @staticmethod
    def text(m: int, n: int, k: int) -> str:
        del k
        a = f"memref<{m + 1}x{n + 1}xf32>"
        body = f"""%n = affine.load %A[%i - 1, %j] : {a}
          %w = affine.load %A[%i, %j - 1] : {a}
          %s = arith.addf %n, %w : f32
          affine.store %s, %A[%i, %j] : {a}"""
        nest = loops(("i", 1, m + 1), ("j", 1, n + 1), body=body)
        return function(f"%A: {a}", nest)

    @staticmethod
    def arrays(rng: np.random.Generator, m: int, n: int, k: int) -> list[np.ndarray]:
        del k
        return [numbers(rng, (m + 1, n + 1))]

    @staticmethod
    def oracle(a: np.ndarray) -> None:
        for i in range(1, a.shape[0]):
            for j in range(1, a.shape[1]):
                a[i, j] = a[i - 1, j] + a[i, j - 1]


PATTERNS = {
    "matmul": Matmul,
    "symbolic": SymbolicMatmul,
    "transposed": Transposed,
    "stencil": Stencil,
    "triangular": Triangular,
    "recurrence": Recurrence,
}


def promoted(name: str, extents: tuple[int, ...], sizes: list[int], way: str) -> Module:
    pattern = PATTERNS[name]
    tile = ",".join(map(str, sizes[: pattern.tiles]))
    passes = f"tile{{sizes=[{tile}]}},promote{{transfers={way}}}"
    return apply(passes, pattern.text(*extents))


def check(name: str, extents: tuple[int, ...], sizes: list[int], *how: str) -> Module:
    """The pass holds something, and the results are those of the text, bit by bit."""
    way, target = how
    module = promoted(name, extents, sizes, way)
    pattern = PATTERNS[name]
    arrays = pattern.arrays(np.random.default_rng(1), *extents)
    wanted = [a.copy() for a in arrays]
    pattern.oracle(*wanted)
    gcg.compile(module, target=target).f(*arrays)
    for array, want in zip(arrays, wanted, strict=True):
        np.testing.assert_array_equal(array, want)
    return module


CPU = [("matmul", "loops"), ("symbolic", "dma"), ("recurrence", "loops")]
"""What Numba compiles, which takes seconds each; the emulated device runs all."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way", "target"),
    [*((name, way, "sim") for name in PATTERNS for way in ("loops", "dma"))]
    + [(*case, "cpu") for case in CPU],
)
def test_results_are_the_same_bit_by_bit(name: str, way: str, target: str) -> None:
    module = check(name, (9, 7, 10), [4, 3, 5], way, target)
    assert any(op.name == "memref.alloc" for op in module.walk())


@pytest.mark.slow
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(
    st.sampled_from(list(PATTERNS)),
    st.tuples(*[st.integers(1, 9)] * 3),
    st.lists(st.integers(2, 6), min_size=3, max_size=3),
    st.sampled_from(["loops", "dma"]),
)
def test_any_extents_and_tiles(
    name: str, extents: tuple[int, ...], sizes: list[int], way: str
) -> None:
    check(name, extents, sizes, way, "sim")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.CodegenWarning")
@pytest.mark.parametrize("passes", ["promote", "promote{transfers=dma}"])
def test_one_kernel_for_all_sizes(passes: str) -> None:
    """The proof holds for any extents: the grid and all bounds are symbols."""
    module = apply(f"tile{{sizes=[4,3,5]}},{passes}", SymbolicMatmul.text(9, 7, 10))
    program = gcg.compile(module, target="sim", specialize=False)
    for extents in ((9, 7, 10), (4, 3, 5)):
        arrays = Matmul.arrays(np.random.default_rng(2), *extents)
        wanted = [a.copy() for a in arrays]
        Matmul.oracle(*wanted)
        program.f(*arrays)
        np.testing.assert_array_equal(arrays[2], wanted[2])


@pytest.mark.slow
def test_the_hardware_copies_the_tiles() -> None:
    from gpucodegen.runtime.cuda.compilation import compile_ptx

    module = apply(
        "tile{sizes=[8,8,8]},promote{transfers=dma}", Matmul.text(16, 16, 16)
    )
    program = gcg.compile(module, target="sim")
    made = [p.mechanism for p in program.transfers("f") if "start" in p.operation]
    assert made == ["cp.async", "cp.async", "cp.async", "copy"]
    (spec,) = program["f"].executable().kernels
    assert "cp.async" in compile_ptx(spec, (9, 0))


def outline(op: Operation, depth: int = 0) -> list[str]:
    """Loops by their variables and transfers by their ends, indented."""
    lines: list[str] = []
    for inner in op.regions[0].blocks[0].operations:
        if inner.name == "affine.for":
            name = inner.body.arguments[0].name
            lines += [f"{'  ' * depth}for {name}", *outline(inner, depth + 1)]
        elif inner.name == "affine.dma_start":
            source, target, _ = ends_of(inner)
            ends = f"{source.memref.name} to {target.memref.name}"
            lines.append(f"{'  ' * depth}copy {ends}")
    return lines


def test_tiled_matmul_has_the_structure_of_the_document() -> None:
    """The schedule tree of the rationale: tiles of 128, copies to fast memory."""
    passes = "tile{sizes=[128,128,128]},promote{transfers=dma,capacity=196608}"
    module = apply(passes, Matmul.text(256, 384, 512))
    (function,) = module.operations
    assert outline(function) == [
        "for i_tile",
        "  for j_tile",
        "    copy C to C_fast",
        "    for k_tile",
        "      copy A to A_fast",
        "      copy B to B_fast",
        "      for i",
        "        for j",
        "          for k",
        "    copy C_fast to C",
    ]
    buffers = [o.result.type for o in module.walk() if o.name == "memref.alloc"]
    fast = [str(ty) for ty in buffers if "f32" in str(ty)]
    assert fast == ["memref<128x128xf32, 2>"] * 3


def test_partial_tiles_are_copied_row_by_row() -> None:
    module = apply("tile{sizes=[4,4,4]},promote{transfers=dma}", Matmul.text(8, 6, 8))
    (function,) = module.operations
    assert outline(function)[2:6] == [
        "    for C0",
        "      copy C to C_fast",
        "    for C0",
        "    for k_tile",
    ]


def test_streams_stay_where_they_are() -> None:
    module = apply("tile{sizes=[4,4]},promote", Transposed.text(8, 8, 0))
    held = [o.result.name for o in module.walk() if o.name == "memref.alloc"]
    assert held == ["B_fast"]
    module = apply("tile{sizes=[4,4]},promote{arrays=[A]}", Transposed.text(8, 8, 0))
    held = [o.result.name for o in module.walk() if o.name == "memref.alloc"]
    assert held == ["A_fast"]


def test_what_does_not_fit_stays_unless_asked_for() -> None:
    text = Matmul.text(64, 64, 64)
    module = apply("tile{sizes=[16,16,16]},promote{capacity=2500}", text)
    held = [o.result.name for o in module.walk() if o.name == "memref.alloc"]
    assert sorted(held) == ["A_fast", "B_fast"]
    with pytest.raises(errors.ResourceLimit, match=r"3072 bytes exceeds .* 2500 bytes"):
        apply("tile{sizes=[16,16,16]},promote{capacity=2500,arrays=[A,B,C]}", text)


UNTILED_COLUMNS = """func.func @f(%A: memref<?x?xf32>, %B: memref<?xf32>, %n: index) {
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %n {
      %a = affine.load %A[%i, %j] : memref<?x?xf32>
      affine.store %a, %B[%i] : memref<?xf32>
    }
  }
  return
}"""
PLAIN_LOAD = """func.func @f(%A: memref<8xf32>, %B: memref<8xf32>, %x: index) {
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    %b = memref.load %A[%x] : memref<8xf32>
    affine.store %a, %B[%i] : memref<8xf32>
  }
  return
}"""


@pytest.mark.cases(
    ("text", "passes", "kind", "message"),
    [
        (
            UNTILED_COLUMNS,
            "tile{sizes=[4]},promote{arrays=[A]}",
            errors.IllegalTransformation,
            "%A is not legal: its tile has no constant extents",
        ),
        (
            PLAIN_LOAD,
            "tile{sizes=[4]},promote{arrays=[A]}",
            errors.IllegalTransformation,
            "'memref.load' uses it too in line 4",
        ),
        (PLAIN_LOAD, "promote{arrays=[a]}", errors.InvalidPassOption, "no buffer %a"),
        (PLAIN_LOAD, "promote{transfers=x}", errors.InvalidPassOption, "loops, dma"),
        (PLAIN_LOAD, "promote{space=1}", errors.InvalidPassOption, "fast memory"),
    ],
)
def test_refusals(text: str, passes: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        apply(passes, text)


def test_arrays_that_cannot_be_held_stay_by_default() -> None:
    module = apply("tile{sizes=[4]},promote", PLAIN_LOAD)
    assert "memref.alloc" not in names(module)


# -- mapped to a block -----------------------------------------------------------------


def mapped(way: str) -> Module:
    module = promoted("matmul", (8, 6, 8), [4, 4, 4], way)
    passes = "normalize-transfers,canonicalize,map-gpu,verify-kernels"
    return run_pipeline(module, parse_pipeline(passes))


def without(root: Operation, name: str, number: int) -> Operation:
    count = itertools.count()

    def drop(op: Operation) -> list[Operation] | None:
        return [] if op.name == name and next(count) == number else None

    (result,) = rewrite_bottom_up(root, drop)
    return result


def test_barriers_stand_around_the_copies() -> None:
    """Before copy-in that reuses the buffer, after copy-in, and before copy-out."""
    (kernel,) = (op for op in mapped("loops").walk() if op.name == "gpu.func")
    body = [op.name for op in kernel.body.operations]
    (loop,) = (
        op
        for op in kernel.body.operations
        if op.name == "affine.for" and "gpu.barrier" in map(name_of, op.walk())
    )
    inside = [op.name for op in loop.body.operations]
    assert inside[0] == "gpu.barrier"
    assert inside.count("gpu.barrier") == 2
    assert body.count("gpu.barrier") == 1


def name_of(op: Operation) -> str:
    return op.name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [0, 1])
def test_a_removed_barrier_is_refused_with_a_witness(number: int) -> None:
    module = mapped("loops")
    broken = Module(without(module.operation, "gpu.barrier", number))
    with pytest.raises(
        errors.RaceFound, match=r"no barrier orders two threads: .*_fast"
    ):
        run_pipeline(broken, parse_pipeline("verify-kernels"))


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_removed_wait_is_refused_with_a_witness(number: int) -> None:
    module = mapped("dma")
    broken = Module(without(module.operation, "memref.dma_wait", number))
    with pytest.raises(errors.TransferOvertaken, match="_fast"):
        run_pipeline(broken, parse_pipeline("verify-kernels"))
