"""Products on the emulated device: edges, orders of memory, batches, parts of sums."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.compiling.targets import cuda_passes
from gpucodegen.dialects.gpu import known_block
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.tiling.machine.gpu.product_tiles import THREE_QUARTERS, SharedTiles
from gpucodegen.tiling.machine.gpu.product_work import blocks_of, tile_of
from tests.passes.lowering import apply

MAPS = {
    "nn": ("i, k", "k, j"),
    "tn": ("k, i", "k, j"),
    "nt": ("i, k", "j, k"),
    "tt": ("k, i", "j, k"),
}


def product(order: str, rows: int, columns: int, terms: int, element: str) -> str:
    sizes = {"i": rows, "j": columns, "k": terms}
    left, right = MAPS[order]
    types = [
        "memref<" + "x".join(str(sizes[d]) for d in dims.split(", ")) + f"x{element}>"
        for dims in (left, right, "i, j")
    ]
    maps = ", ".join(
        f"affine_map<(i, j, k) -> ({dims})>" for dims in (left, right, "i, j")
    )
    multiply, add = ("mulf", "addf") if element[0] == "f" else ("muli", "addi")
    return f"""
func.func @f(%A: {types[0]}, %B: {types[1]}, %C: {types[2]}) {{
  linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : {types[0]}, {types[1]}) outs(%C : {types[2]}) {{
    ^bb0(%a: {element}, %b: {element}, %c: {element}):
      %p = arith.{multiply} %a, %b : {element}
      %s = arith.{add} %c, %p : {element}
      linalg.yield %s : {element}
  }}
  return
}}"""


def computed(text: str, *arrays: np.ndarray) -> np.ndarray:
    last = arrays[-1].copy()
    gcg.compile(text, target="sim")["f"](*arrays[:-1], last)
    return last


PARTS = """
func.func @f(%A: memref<32x32xf16>, %B: memref<32x32xf16>, %C: memref<?x?xf32>,
             %m: index, %n: index, %k: index) {
  %a = memref.subview %A[8, 8] [%m, %k] [1, 1]
    : memref<32x32xf16> to memref<?x?xf16, strided<[32, 1], offset: 264>>
  %b = memref.subview %B[8, 8] [%k, %n] [1, 1]
    : memref<32x32xf16> to memref<?x?xf16, strided<[32, 1], offset: 264>>
  linalg.matmul
    ins(%a, %b : memref<?x?xf16, strided<[32, 1], offset: 264>>,
                 memref<?x?xf16, strided<[32, 1], offset: 264>>)
    outs(%C : memref<?x?xf32>)
  return
}"""


@pytest.mark.parametrize("terms", [11, 16])
def test_accesses_of_several_elements_divide_dynamic_extents(terms: int) -> None:
    """Rows begin at multiples of 16 bytes, and end at any element."""
    rng = np.random.default_rng(terms)
    a, b = (rng.integers(-8, 9, (32, 32)).astype("f2") for _ in "ab")
    c = np.zeros((7, 5), "f4")
    gcg.compile(PARTS, target="sim").f(a, b, c, 7, 5, terms)
    want = a[8:15, 8 : 8 + terms].astype("f4") @ b[8 : 8 + terms, 8:13].astype("f4")
    assert (c == want).all()


KINDS = {"f32": "f4", "f64": "f8", "i32": "i4"}
SHAPES = [(64, 64, 32), (33, 47, 19), (40, 36, 20), (130, 7, 5), (1, 65, 3)]


@pytest.mark.drawn(10)
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", MAPS)
@pytest.mark.sampled(15)
def test_both_orders_of_memory(order: str, shape: tuple[int, int, int]) -> None:
    check(order, shape, "f32")


@pytest.mark.slow
@pytest.mark.parametrize("element", KINDS)
@pytest.mark.sampled(2)
def test_elements(element: str) -> None:
    check("nn", (36, 20, 24), element)


def check(order: str, shape: tuple[int, int, int], element: str) -> None:
    rows, columns, terms = shape
    rng = np.random.default_rng(1)

    def made(*shape: int) -> np.ndarray:
        return rng.integers(-4, 5, shape).astype(KINDS[element])

    a, b, c = made(rows, terms), made(terms, columns), made(rows, columns)
    left = a if order[0] == "n" else np.ascontiguousarray(a.T)
    right = b if order[1] == "n" else np.ascontiguousarray(b.T)
    found = computed(product(order, *shape, element), left, right, c)
    np.testing.assert_array_equal(found, c + a @ b)


@pytest.mark.slow
@pytest.mark.parametrize("offset", [1, 2])
def test_arrays_that_begin_between_two_words(offset: int) -> None:
    """Rows of whole words, whose first one no access of 16 bytes may load."""
    rng = np.random.default_rng(2)
    flat = [rng.integers(-4, 5, 64 * 64 + 4).astype("f4") for _ in range(3)]
    a, b, c = (x[offset : offset + 64 * 64].reshape(64, 64) for x in flat)
    found = computed(product("nn", 64, 64, 64, "f32"), a, b, c)
    np.testing.assert_array_equal(found, c + a @ b)


@pytest.mark.slow
def test_parts_of_a_long_sum() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (
        rng.integers(-4, 5, shape).astype("f4")
        for shape in ((32, 4096), (4096, 40), (32, 40))
    )
    compiled = gcg.compile(product("nn", 32, 40, 4096, "f32"), target="sim")["f"]
    assert len(compiled.executable().kernels) == 2
    found = computed(product("nn", 32, 40, 4096, "f32"), a, b, c)
    np.testing.assert_array_equal(found, c + a @ b)


@pytest.mark.parametrize("tile", [[32, 32, 8, 4, 4], [16, 16, 4, 4, 2]])
def test_a_plan_of_the_caller(tile: list[int]) -> None:
    sizes = ",".join(map(str, tile))
    pipeline = f"linalg-to-affine,map-gpu{{tile=[{sizes}]}}"
    module = apply(pipeline, product("nn", 40, 33, 20, "f32"))
    (kernel,) = (op for op in module.walk() if op.name == "gpu.func")
    rows, columns, _, down, across = tile
    assert known_block(kernel) == (rows // down * (columns // across), 1, 1)


Mapped = Callable[..., Any]


@pytest.fixture
def mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapped:
    """Compiles a function whose kernels are mapped as asked, and keeps nothing."""
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))

    def compiled(text: str, **mapping: Any) -> Any:
        monkeypatch.setattr(cuda_passes, "MapGpu", partial(MapGpu, **mapping))
        return gcg.compile(text, target="sim")["f"]

    return compiled


GRIDS = [(130, 70, 20), (16, 16, 8), (49, 17, 9), (80, 144, 16)]


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("shape", GRIDS, ids=str)
def test_blocks_in_bands_make_each_tile_once(
    shape: tuple[int, int, int], group: int, mapped: Mapped
) -> None:
    rows, columns, terms = shape
    down, across = -(-rows // 16), -(-columns // 16)
    blocks = range(blocks_of(down, across, group))
    tiles = [tile_of(block, across, group) for block in blocks]
    assert sorted(t for t in tiles if t[0] < down) == [*np.ndindex(down, across)]
    rng = np.random.default_rng(2)
    a, b, c = (
        rng.integers(-4, 5, size).astype("f4")
        for size in ((rows, terms), (terms, columns), (rows, columns))
    )
    want, tile = c + a @ b, (16, 16, 8, 2, 2, 1, 1, group)
    text = product("nn", *shape, "f32")
    mapped(text, tile=tile)(a, b, c)
    np.testing.assert_array_equal(c, want)


STAGED_SHAPES = [(32, 32, 16), (64, 36, 80), (40, 36, 20), (33, 65, 47), (4, 4, 1)]


@pytest.mark.sampled(48)
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("shape", STAGED_SHAPES, ids=str)
@pytest.mark.parametrize(
    ("order", "element"), [("tn", "f32"), ("nn", "f32"), ("nn", "f64")]
)
@pytest.mark.drawn(20)
def test_factors_past_the_registers(
    order: str,
    element: str,
    shape: tuple[int, int, int],
    stages: int,
    mapped: Mapped,
) -> None:
    rows, columns, terms = shape
    rng = np.random.default_rng(3)
    a, b, c = (
        rng.integers(-4, 5, size).astype(KINDS[element])
        for size in ((rows, terms), (terms, columns), (rows, columns))
    )
    left = a if order[0] == "n" else np.ascontiguousarray(a.T)
    # Bases that 16 bytes do not divide, too.
    right = np.empty(b.size + 1, b.dtype)[1:].reshape(b.shape)
    right[...] = b
    want, text = c + a @ b, product(order, *shape, element)
    mapped(text, tile=(32, 32, 16, 4, 4), stages=stages)(left, right, c)
    np.testing.assert_array_equal(c, want)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(100, 513, 77), (128, 128, 64)], ids=str)
def test_single_elements_go_past_the_registers(shape: tuple[int, int, int]) -> None:
    """What is turned, or begins between two words, keeps several stages under way."""
    text = product("nn", *shape, "f32")
    rows, columns, terms = shape
    rng = np.random.default_rng(5)
    a, b, c = (
        rng.integers(-4, 5, size).astype("f4")
        for size in ((rows, terms), (terms, columns), (rows, columns))
    )
    program, want = gcg.compile(text, target="sim"), c + a @ b
    program["f"](a, b, c)
    np.testing.assert_array_equal(c, want)
    mapped = dict(program["f"].executable().stages)["map-gpu"]
    copies = [x for x in mapped.splitlines() if "device_async_copy" in x]
    assert any(", 1 :" in x for x in copies)
    waits = [
        int(n) for n in re.findall(r"device_async_wait.*numGroups = (\d+)", mapped)
    ]
    assert waits
    assert all(waits)  # none waits for all that is under way


@pytest.mark.parametrize(
    ("channels", "taps", "depth"), [(4, (3, 3), 18), (2, (5, 7), 7)], ids=str
)
def test_windows_go_past_the_registers(
    channels: int, taps: tuple[int, int], depth: int
) -> None:
    """K tiles have whole rows of taps, so addresses differ by constants."""
    shapes = (
        (2, channels, 7 + taps[0], 7 + taps[1]),
        (64, channels, *taps),
        (2, 64, 8, 8),
    )
    x, w, y = (f"memref<{'x'.join(map(str, shape))}xf32>" for shape in shapes)
    text = f"""
func.func @f(%x: {x}, %w: {w}, %y: {y}) {{
  linalg.conv_2d_nchw_fchw ins(%x, %w : {x}, {w}) outs(%y : {y})
  return
}}"""
    rng = np.random.default_rng(6)
    image, filters = (rng.integers(-4, 5, s).astype("f4") for s in shapes[:2])
    windows = np.lib.stride_tricks.sliding_window_view(image, taps, (2, 3))
    found = np.zeros(shapes[2], "f4")
    program = gcg.compile(text, target="sim", arch="sm_90a")
    program["f"](image, filters, found)
    want = np.einsum("nchwij,fcij->nfhw", windows, filters)
    np.testing.assert_array_equal(found, want)
    source = program["f"].executable().source
    assert set(re.findall(r"async_copy_4\((\w), .*, 0, [1-9]\d*, s", source)) == {*"wx"}
    tiles = -(-channels * taps[0] * taps[1] // depth)
    assert f"while block < {tiles}:" in source


@pytest.mark.slow
@pytest.mark.parametrize("tile", THREE_QUARTERS, ids=lambda tile: str(tile.tile_rows))
@pytest.mark.drawn(3)
def test_sides_of_three_quarters_of_a_power_of_two(
    tile: SharedTiles, mapped: Mapped
) -> None:
    rows, columns, terms = tile.tile_rows + 5, tile.tile_columns, 2 * tile.depth + 3
    rng = np.random.default_rng(4)
    a, b, c = (
        rng.integers(-4, 5, shape).astype("f4")
        for shape in ((rows, terms), (terms, columns), (rows, columns))
    )
    want = c + a @ b
    sizes = tile.tile_rows, tile.tile_columns, tile.depth
    each = tile.thread_rows, tile.thread_columns
    text = product("nn", rows, columns, terms, "f32")
    mapped(text, tile=(*sizes, *each), stages=tile.tile_rows % 128 and 3)(a, b, c)
    np.testing.assert_array_equal(c, want)


@pytest.mark.slow
def test_more_shared_memory_than_arrays_of_a_kernel_may_have(mapped: Mapped) -> None:
    text = product("tn", 128, 128, 40, "f32")
    rng = np.random.default_rng(4)
    a, b, c = (
        rng.integers(-4, 5, size).astype("f4")
        for size in ((40, 128), (40, 128), (128, 128))
    )
    want = c + a.T @ b
    compiled = mapped(text, tile=(128, 128, 16, 8, 8), stages=4)
    compiled(a, b, c)
    np.testing.assert_array_equal(c, want)
    (kernel,) = compiled.executable().kernels
    assert kernel.dynamic_shared
    assert kernel.shared_bytes == 4 * 16 * 256 * 4


RNG = np.random.default_rng(5)
MASKS = {
    "triu": ("sge", -1, False, True),
    "tril": ("sge", 0, True, True),
    "band": ("slt", 40, False, True),
    "upper": ("sgt", -17, False, True),
    "lower": ("sle", 12, False, True),
    "diagonal": ("eq", 0, True, False),
    "overflow": ("sge", 2**31 - 1, False, False),
}
"""A comparison of row + a number with the column, and whether it keeps the sums.

At last whether the sums of some tiles are not needed.
"""


def masked(predicate: str, shift: int, *, keeps: bool) -> str:
    chosen = "%sum, %zero" if keeps else "%zero, %sum"
    a, b, c = (f"memref<{shape}xf32>" for shape in ("70x17", "17x66", "70x66"))
    return f"""func.func @f(%A: {a}, %B: {b}, %O: {c}) {{
      %zero = arith.constant 0.0 : f32
      %shift = arith.constant {shift} : i32
      %C = memref.alloc() : {c}
      linalg.fill ins(%zero : f32) outs(%C : {c})
      linalg.matmul ins(%A, %B : {a}, {b}) outs(%C : {c})
      affine.for %i = 0 to 70 {{
        affine.for %j = 0 to 66 {{
          %sum = affine.load %C[%i, %j] : {c}
          %row = arith.index_cast %i : index to i32
          %column = arith.index_cast %j : index to i32
          %moved = arith.addi %row, %shift : i32
          %holds = arith.cmpi {predicate}, %moved, %column : i32
          %kept = arith.select %holds, {chosen} : f32
          affine.store %kept, %O[%i, %j] : {c}
        }}
      }}
      memref.dealloc %C : {c}
      return
    }}"""


@pytest.mark.parametrize("name", MASKS)
def test_masks_by_loop_variables_are_epilogues(name: str) -> None:
    """The product of a tile that is masked as a whole is not computed."""
    predicate, shift, keeps, skips = MASKS[name]
    a, b = RNG.standard_normal((70, 17)), RNG.standard_normal((17, 66))
    a, b, out = a.astype("f4"), b.astype("f4"), np.ones((70, 66), "f4")
    a[50, 3] = np.inf
    program = gcg.compile(masked(predicate, shift, keeps=keeps), target="sim")
    program.f(a, b, out)
    rows, columns = (x.astype("i4") for x in np.ogrid[:70, :66])
    with np.errstate(all="ignore"):
        moved, sums = rows + np.int32(shift), a.astype("f8") @ b
    compare = {
        "sge": np.greater_equal,
        "sgt": np.greater,
        "sle": np.less_equal,
        "slt": np.less,
        "eq": np.equal,
    }[predicate]
    holds = compare(moved, columns)
    np.testing.assert_allclose(out, np.where(holds == keeps, sums, 0), atol=1e-4)
    source = program.source("f")
    assert source.count("rt.launch(") == 1
    assert bool(re.search(r"^    if int32\(b[xy] \* ", source, re.MULTILINE)) == skips


ROWS = """func.func @f(%a: memref<3x8x9x16xf32>, %b: memref<3x16x70xf32>,
                     %o: memref<3x8x9x70xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<3x8x9x70xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<3x8x9x70xf32>)
  affine.for %e = 0 to 3 { affine.for %i = 0 to 8 {
    affine.for %h = 0 to 9 { affine.for %j = 0 to 70 {
      affine.for %k = 0 to 16 {
        %x = affine.load %a[%e, %i, %h, %k] : memref<3x8x9x16xf32>
        %y = affine.load %b[%e, %k, %j] : memref<3x16x70xf32>
        %z = affine.load %c[%e, %i, %h, %j] : memref<3x8x9x70xf32>
        %p = arith.mulf %x, %y : f32
        %q = arith.addf %z, %p : f32
        affine.store %q, %c[%e, %i, %h, %j] : memref<3x8x9x70xf32>
      }
    } }
  } }
  affine.for %e = 0 to 3 { affine.for %i = 0 to 8 {
    affine.for %h = 0 to 9 { affine.for %j = 0 to 70 {
      %s = affine.load %c[%e, %i, %h, %j] : memref<3x8x9x70xf32>
      %p0 = arith.index_cast %AXIS : index to i32
      %p1 = arith.index_cast %j : index to i32
      %p2 = arith.index_cast %e : index to i32
      %p = arith.addi %p0, %p2 : i32
      %t = arith.cmpi slt, %p, %p1 : i32
      %u = arith.select %t, %zero, %s : f32
      affine.store %u, %o[%e, %i, %h, %j] : memref<3x8x9x70xf32>
    } }
  } }
  memref.dealloc %c : memref<3x8x9x70xf32>
  return
}"""


@pytest.mark.parametrize(("axis", "skips"), [("i", False), ("h", False), ("e", True)])
def test_masks_by_axes_of_rows_and_batches(axis: str, *, skips: bool) -> None:
    """Rows of a tile that lie in several images have no form for all of them."""
    a, b = RNG.standard_normal((3, 8, 9, 16)), RNG.standard_normal((3, 16, 70))
    a, b, out = a.astype("f4"), b.astype("f4"), np.ones((3, 8, 9, 70), "f4")
    program = gcg.compile(ROWS.replace("%AXIS", f"%{axis}"), target="sim")
    program.f(a, b, out)
    e, i, h, j = np.ogrid[:3, :8, :9, :70]
    sums = np.einsum("eihk,ekj->eihj", a.astype("f8"), b)
    is_zero = {"i": i, "h": h, "e": e}[axis] + e < j
    np.testing.assert_allclose(out, np.where(is_zero, 0, sums), atol=1e-4)
    source = program.source("f")
    assert source.count("rt.launch(") == 1
    assert bool(re.search(r"^    if int32\(b[xyz] \* ", source, re.MULTILINE)) == skips
