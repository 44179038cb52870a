"""Every way to block and pack a contraction on the CPU gives the same sums."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from gpucodegen.runtime.processor import AVX2, AVX512, SSE2, Cpu, stated
from gpucodegen.tiling.machine.dot_kernels import Products, dots_time
from gpucodegen.tiling.machine.processor import Machine, VectorUnit
from gpucodegen.tiling.machine.product_plan import plan_contraction as plan
from gpucodegen.tiling.machine.product_plan import tiles_time
from gpucodegen.tiling.machine.product_problem import (
    Candidate,
    InPlace,
    OuterPanels,
    PrivatePanels,
    Problem,
    SharedPanels,
    Stripes,
    TileSizes,
)
from tests.programs.products import integers, product

SHAPES = {
    "stripes of panels": (403, 330, 1100),
    "panels of one block": (70, 200, 520),
    "panels of several blocks": (52, 150, 1234),
    "left rows at strides of a page": (400, 300, 1024),
    "right read in place, streamed": (3, 1100, 40),
    "one row, streamed": (1, 1100, 40),
    "stripes of two and of three panels": (256, 784, 300),
    "stripes of less than a panel, 100 columns": (300, 100, 200),
    "stripes of less than a panel, 40 columns": (300, 40, 200),
    "one row, from memory": (1, 2100, 1100),
    "one row": (1, 1100, 37),
    "one row, few columns": (1, 9, 5),
    "less than a tile": (5, 7, 3),
    "tiles of the result are fetched before": (1100, 1300, 9),
    "rows of the result are fetched between steps": (190, 1000, 7),
    "inner products of rows and a vector": (37, 1, 100),
    "inner products of two columns": (530, 2, 129),
    "inner products of few columns": (9, 5, 64),
    "inner products shorter than a register": (19, 1, 5),
    "one inner product": (1, 1, 1000),
    "inner products of one row and two columns": (1, 2, 133),
    "inner products of fewer rows than columns": (2, 3, 100),
    "sums in turns, three columns": (1, 3, 1003),
    "sums in turns, part of a register and a rest": (3, 4, 1001),
    "sums in turns, two registers": (2, 20, 515),
    "sums in turns, one row of two registers": (1, 20, 2050),
}


@pytest.mark.drawn(24)
@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_products_are_exact(shape: tuple[int, int, int], threads: int):
    m, n, k = shape
    a, b = integers(m, k), integers(k, n)
    text = product(m, n, k, "f32")
    c = np.ones((m, n), "f4")
    gcg.compile(text, target="cpu", threads=threads).f(a, b, c)
    assert np.array_equal(c, 1 + a.astype(int) @ b.astype(int))


@pytest.mark.slow
def test_rows_that_crowd_the_sets_of_a_cache_are_copied():
    m, n, k = 50, 200, 1024
    text = product(m, n, k, "f32")
    passes = "generalize,linalg-to-affine,map-cpu{vector_bits=512,registers=32,rows=12}"
    lowered = str(run_pipeline(gcg.parse(text), parse_pipeline(passes)))
    assert "%rows = memref.alloc" in lowered
    a, b, c = integers(m, k), integers(k, n), np.ones((m, n), "f4")
    gcg.compile(lowered, target="cpu").f(a, b, c)
    assert np.array_equal(c, 1 + a.astype(int) @ b.astype(int))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [30, 250])
def test_batches(rows: int):
    a, b = integers(3, rows, 60), integers(3, 60, 50)
    text = f"""func.func @f(%A: tensor<3x{rows}x60xf32>, %B: tensor<3x60x50xf32>,
        %C: tensor<3x{rows}x50xf32>) -> tensor<3x{rows}x50xf32> {{
      %0 = linalg.batch_matmul
        ins(%A, %B : tensor<3x{rows}x60xf32>, tensor<3x60x50xf32>)
        outs(%C : tensor<3x{rows}x50xf32>) -> tensor<3x{rows}x50xf32>
      return %0 : tensor<3x{rows}x50xf32>
    }}"""
    c = np.ones((3, rows, 50), "f4")
    assert np.array_equal(gcg.compile(text, target="cpu").f(a, b, c), 1 + a @ b)


FACTORS = {"rows": ("i, k", (13, 75)), "columns": ("k, i", (75, 13))}


@pytest.mark.slow
@pytest.mark.parametrize("right", FACTORS)
@pytest.mark.parametrize("left", FACTORS)
@pytest.mark.parametrize("columns", [1, 3, 40, 180])
def test_transposed_factors(left: str, right: str, columns: int):
    (a_map, a_shape), (b_map, b_shape) = FACTORS[left], FACTORS[right]
    b_map, b_shape = (
        b_map.replace("i", "j"),
        tuple(columns if n == 13 else n for n in b_shape),
    )
    types = [
        "memref<" + "".join(f"{n}x" for n in shape) + "f32>"
        for shape in (a_shape, b_shape, (13, columns))
    ]
    text = f"""func.func @f(%A: {types[0]}, %B: {types[1]}, %C: {types[2]}) {{
      linalg.generic {{
        indexing_maps = [affine_map<(i, j, k) -> ({a_map})>,
                         affine_map<(i, j, k) -> ({b_map})>,
                         affine_map<(i, j, k) -> (i, j)>],
        iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%A, %B : {types[0]}, {types[1]}) outs(%C : {types[2]}) {{
        ^bb0(%a: f32, %b: f32, %c: f32):
          %p = arith.mulf %a, %b : f32
          %s = arith.addf %c, %p : f32
          linalg.yield %s : f32
      }}
      return
    }}"""
    a, b = integers(*a_shape), integers(*b_shape)
    c = np.ones((13, columns), "f4")
    gcg.compile(text, target="cpu").f(a, b, c)
    expected = (a if left == "rows" else a.T) @ (b.T if right == "rows" else b)
    assert np.array_equal(c, 1 + expected)


@pytest.mark.slow
@pytest.mark.parametrize("outer", ["", "1x", "3x"])
def test_lanes_walk_the_last_axis_longer_than_one(outer: str):
    a_type, x_type, y_type = (
        f"memref<{outer}{shape}xf32>" for shape in ("75x130", "75x1", "130x1")
    )
    batch = "b, " if outer else ""
    kinds = ", ".join(['"parallel"'] * (3 if outer else 2) + ['"reduction"'])
    maps = ", ".join(
        f"affine_map<({batch}i, j, k) -> ({batch}{axes})>"
        for axes in ("k, i", "k, j", "i, j")
    )
    text = f"""func.func @f(%A: {a_type}, %x: {x_type}, %y: {y_type}) {{
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
        ins(%A, %x : {a_type}, {x_type}) outs(%y : {y_type}) {{
        ^bb0(%a: f32, %b: f32, %c: f32):
          %p = arith.mulf %a, %b : f32
          %s = arith.addf %c, %p : f32
          linalg.yield %s : f32
      }}
      return
    }}"""
    shape = [int(outer[:-1])] if outer else []
    a, x = integers(*shape, 75, 130), integers(*shape, 75, 1)
    y = np.ones((*shape, 130, 1), "f4")
    program = gcg.compile(text, target="cpu", threads=1)
    program.f(a, x, y)
    assert np.array_equal(y, 1 + a.swapaxes(-1, -2) @ x)
    assert "fma(" in program.source("f")


def elements(kind: str, *shape: int) -> np.ndarray:
    """Small integers of an element type."""
    return integers(*shape).astype({"f64": "f8", "i32": "i4"}[kind])


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("element", ["f64", "i32"])
def test_batched_inner_products(element: str, threads: int):
    matrices, vectors, results = (
        f"memref<{shape}x{element}>" for shape in ("3x500x90", "3x90", "3x500")
    )
    text = f"""func.func @f(%A: {matrices}, %x: {vectors}, %y: {results}) {{
      linalg.batch_matvec ins(%A, %x : {matrices}, {vectors}) outs(%y : {results})
      return
    }}"""
    a, x = (elements(element, *shape) for shape in ((3, 500, 90), (3, 90)))
    y = np.ones((3, 500), a.dtype)
    program = gcg.compile(text, target="cpu", threads=threads)
    program.f(a, x, y)
    assert np.array_equal(y, 1 + np.einsum("bik,bk->bi", a, x))
    assert "reduce_rows" in program.source("f")


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(
    ("processor", "element", "across"),
    [
        (AVX512, "f64", True),
        (AVX512, "i32", True),
        (AVX2, "f64", False),
        (AVX2, "i32", True),
        (SSE2, "i32", False),
    ],
)
def test_columns_are_copied_for_each_product_of_a_batch(
    processor: Cpu, element: str, across: bool, threads: int
):
    """Where inner products fill registers that three columns do not."""
    left, right, results = (
        f"memref<3x{shape}x{element}>" for shape in ("41x70", "70x3", "41x3")
    )
    text = f"""func.func @f(%A: {left}, %B: {right}, %C: {results}) {{
      linalg.batch_matmul ins(%A, %B : {left}, {right}) outs(%C : {results})
      return
    }}"""
    a, b = (elements(element, *shape) for shape in ((3, 41, 70), (3, 70, 3)))
    c = np.ones((3, 41, 3), a.dtype)
    program = gcg.compile(text, target="cpu", threads=threads)
    with stated(processor):
        program.f(a, b, c)
    assert np.array_equal(c, 1 + a @ b)
    assert ("reduce_rows" in program.source("f")) == across


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "across"), [(8, False), (9, True)])
def test_short_sums_run_side_by_side(steps: int, across: bool):
    program = gcg.compile(product(200, 1, steps, "f32"), target="cpu", threads=1)
    a, b, c = integers(200, steps), integers(steps, 1), np.ones((200, 1), "f4")
    program.f(a, b, c)
    assert np.array_equal(c, 1 + a @ b)
    assert ("reduce_rows" in program.source("f")) == across


DOT = """func.func @f(%x: memref<1000xf32>, %y: memref<1000xf32>, %s: memref<1xf32>) {
  affine.for %k = 0 to 1000 {
    %a = affine.load %x[%k] : memref<1000xf32>
    %b = affine.load %y[%k] : memref<1000xf32>
    %p = arith.mulf %a, %b : f32
    %t = affine.load %s[0] : memref<1xf32>
    %u = arith.addf %t, %p : f32
    affine.store %u, %s[0] : memref<1xf32>
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "reordered"),
    [({}, False), ({"reassociate": True}, True), ({"exact": True}, False)],
)
def test_sums_of_loops_are_reordered_on_request_only(
    options: dict[str, bool], reordered: bool
):
    program = gcg.compile(DOT, target="cpu", **options)
    x, y, s = integers(1000), integers(1000), np.ones(1, "f4")
    program.f(x, y, s)
    assert s[0] == 1 + x @ y
    assert ("reduce_rows" in program.source("f")) == reordered


def test_rows_of_tiles_are_added_up():
    text = """func.func @f(%A: memref<5x24xf32>, %s: memref<5xf32>) {
      %c0 = arith.constant 0 : index
      %z = arith.constant 0.0 : f32
      %a = vector.transfer_read %A[%c0, %c0], %z {in_bounds = [true, true]}
        : memref<5x24xf32>, vector<5x24xf32>
      %t = vector.load %s[%c0] : memref<5xf32>, vector<5xf32>
      %r = vector.multi_reduction <add>, %a, %t [1] : vector<5x24xf32> to vector<5xf32>
      vector.store %r, %s[%c0] : memref<5xf32>, vector<5xf32>
      return
    }"""
    a = integers(5, 24)
    for target in ("cpu", "sim"):
        s = np.ones(5, "f4")
        gcg.compile(text, target=target).f(a, s)
        assert np.array_equal(s, 1 + a.sum(1))


def test_small_tiles_split_accumulators_where_the_order_is_free():
    problem = Problem(1, 3, (1000,), 1, 64, True, False, reassociable=True)
    model = Machine(1, VectorUnit(512, 32))
    free = plan(problem, model).tiling
    assert free.k_chunk % free.accumulators((3,)) == 0
    assert (
        free.accumulators((3,))
        > free.accumulators((16,))
        > free.accumulators((32,))
        == 1
    )
    for held in (
        replace(problem, reassociable=False),
        replace(problem, reduction=(9,)),
    ):
        assert plan(held, model).tiling.accumulators((3,)) == 1
    text = product(1, 3, 1000, "f32")
    passes = "generalize,linalg-to-affine,map-cpu{vector_bits=512,registers=32}"
    lowered = str(run_pipeline(gcg.parse(text), parse_pipeline(passes)))
    assert lowered.count("arith.addf") == free.accumulators((3,)) - 1


@pytest.mark.parametrize("m", [1, 3])
def test_rows_from_memory_are_fetched_for_the_next_block(m: int):
    text = product(m, 300, 200, "f32")
    passes = (
        "generalize,linalg-to-affine,map-cpu{cache=20480,first_cache=32768,kept=81920}"
    )
    lowered = str(run_pipeline(gcg.parse(text), parse_pipeline(passes)))
    ahead = r"affine.prefetch %B\[%\w+ \+ 8, .*\], read, locality<2>, data"
    assert re.search(ahead, lowered)


def planned(m: int, n: int, k: int, rows: int = 0, **more: bool) -> Candidate:
    problem = replace(Problem(m, n, (k,), 1, 32, True, False, k), **more)
    return plan(problem, Machine(2), TileSizes(rows))


def striped(m: int, n: int, k: int, rows: int = 0, **more: bool) -> Stripes:
    made = planned(m, n, k, rows, **more)
    assert isinstance(made, Stripes)
    return made


def test_stripes_fetch_and_copy_in_parts():
    made = striped(403, 330, 1100, rows=6)
    tiling = made.tiling
    assert tiling.k_chunk == 367
    assert tiling.stripes > 1
    assert tiling.row_block < 403
    pieces = 16 * made.left_lines * (330 // tiling.columns // tiling.stripes)
    assert made.parts > 1
    assert pieces >= tiling.k_chunk
    assert striped(403, 330, 90).parts == 0
    turned = striped(403, 330, 600, left_is_transposed=True)
    assert turned.tiling.left_stride >= turned.tiling.k_chunk
    assert turned.left_rows > turned.tiling.rows
    lanes = turned.tiling.lanes
    assert turned.tiling.row_block % lanes == turned.left_rows % lanes == 0
    uneven = striped(403, 330, 600, uneven=True)
    assert uneven.tiling.row_block < striped(403, 330, 600).tiling.row_block


def test_kinds_differ_as_named():
    triangles = Problem(403, 330, (600,), 3, 32, True, False, 600, uneven=True)
    assert isinstance(plan(triangles, Machine(2)), SharedPanels)
    apart = plan(replace(triangles, left_is_transposed=True), Machine(2)).tiling
    assert apart.row_block % apart.lanes == 0 < apart.left_stride
    assert isinstance(planned(70, 200, 520), PrivatePanels)
    assert isinstance(planned(7, 200, 520, rows=6), InPlace)
    assert planned(400, 300, 1024).tiling.left_stride == 0
    assert planned(400, 300, 1024, rows=12).tiling.left_stride > 256
    assert planned(400, 300, 1040, rows=12).tiling.left_stride == 0
    assert planned(1100, 1300, 9).tiling.fetches
    alone = [
        type(plan(Problem(1100, 1300, (k,), 1, 32, True, False, k), Machine(1)))
        for k in (9, 90)
    ]
    assert alone == [Stripes, PrivatePanels]
    assert planned(190, 1000, 90).tiling.fetches
    assert not planned(190, 7000, 900).tiling.fetches


def in_place(m: int, n: int, k: int, machine: Machine) -> InPlace:
    made = plan(Problem(m, n, (k,), 1, 32, True, False), machine)
    assert isinstance(made, InPlace)
    return made


def test_factors_in_place_are_streamed():
    assert in_place(3, 1100, 40, Machine(2)).tiling.k_chunk == 14
    many_ways = Machine(2, first=48 << 10)
    for machine, beside in ((Machine(2), False), (many_ways, True)):
        near, far, short = (
            in_place(1, n, k, machine)
            for n, k in ((1024, 1024), (8192, 8192), (200, 40))
        )
        assert near.tiling.k_chunk < far.tiling.k_chunk
        assert near.next_panel == far.next_panel == beside
        assert not short.next_panel
        assert near.ahead == short.ahead == 0
        assert far.ahead == (0 if beside else far.tiling.k_chunk)
    assert in_place(1, 1 << 18, 64, Machine(2)).ahead == 0
    few = [in_place(m, 8192, 8192, Machine(2)).tiling for m in (1, 4)]
    assert few[0].columns > few[1].columns
    assert few[0].k_chunk == few[1].k_chunk < planned(30, 8192, 8192).tiling.k_chunk


@pytest.mark.parametrize(
    ("m", "n", "k", "pays"),
    [(2048, 3, 500, True), (64, 64, 64, False), (2048, 2048, 2048, False)],
)
def test_inner_products_pay_for_few_columns(m: int, n: int, k: int, pays: bool):
    problem = Problem(m, n, (k,), 1, 64, True, False, k)
    model = Machine(2, VectorUnit(512, 32))
    products = Products(m, n, k, 64, copied=True)
    dots = dots_time(products, model, problem.work)
    assert (dots < tiles_time(problem, model)) == pays


@pytest.mark.slow
def test_rows_of_the_result_are_fetched_to_their_last_line():
    text = """func.func @f(%A: memref<1100x9xf32>, %B: memref<9x1300xf32>,
                           %C: memref<1100x1300xf32>) {
      linalg.matmul ins(%A, %B : memref<1100x9xf32>, memref<9x1300xf32>)
                    outs(%C : memref<1100x1300xf32>)
      return
    }"""
    program = gcg.compile(text, target="cpu", threads=1)
    program.f(integers(1100, 9), integers(9, 1300), np.zeros((1100, 1300), "f4"))
    source = program.source("f")
    widest = max(map(int, re.findall(r"outerproduct_\d+x(\d+)xf32", source)))
    rows = re.findall(r"prefetch_write3\(C, .*, \((.*?),?\)\)", source)
    assert any(str(widest - 1) in row.split(", ") for row in rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("use", "action"), [("read", "read1"), ("write", "write1")])
def test_prefetches_are_hints_for_processors(use: str, action: str):
    text = f"""func.func @f(%A: memref<64xf32>) {{
      affine.for %i = 0 to 64 {{
        affine.prefetch %A[%i + 16], {use}, locality<1>, data : memref<64xf32>
        %a = affine.load %A[%i] : memref<64xf32>
        %b = arith.addf %a, %a : f32
        affine.store %b, %A[%i] : memref<64xf32>
      }}
      return
    }}"""
    for target in ("cpu", "sim"):
        program, a = gcg.compile(text, target=target), integers(64)
        expected = 2 * a
        program.f(a)
        assert np.array_equal(a, expected)
        assert (f"prefetch_{action}(" in program.source("f")) == (target == "cpu")


def test_elements_of_several_types_are_fetched():
    text = """func.func @f(%A: memref<64xf16>, %B: memref<64xf32>) {
      affine.for %i = 0 to 64 {
        affine.prefetch %A[%i + 16], read, locality<3>, data : memref<64xf16>
        affine.prefetch %B[%i + 16], read, locality<3>, data : memref<64xf32>
        %a = affine.load %A[%i] : memref<64xf16>
        %b = arith.extf %a : f16 to f32
        affine.store %b, %B[%i] : memref<64xf32>
      }
      return
    }"""
    a, b = integers(64).astype("f2"), np.zeros(64, "f4")
    gcg.compile(text, target="cpu").f(a, b)
    assert np.array_equal(b, a)


def test_vectors_outside_of_loops():
    text = """func.func @f(%A: memref<8xf32>, %B: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %two = arith.constant dense<2.0> : vector<8xf32>
      %v = vector.load %A[%c0] : memref<8xf32>, vector<8xf32>
      %w = arith.mulf %v, %two : vector<8xf32>
      vector.store %w, %B[%c0] : memref<8xf32>, vector<8xf32>
      return
    }"""
    a, b = integers(8), np.zeros(8, "f4")
    gcg.compile(text, target="cpu").f(a, b)
    assert np.array_equal(b, 2 * a)


def started(fill: str, k: int = 1100) -> gcg.Program:
    a, b, c = (f"memref<{shape}xf32>" for shape in (f"20x{k}", f"{k}x70", "20x70"))
    text = f"""func.func @f(%A: {a}, %B: {b}, %C: {c}, %z: f32) {{
      {fill.format(c=c)}
      linalg.matmul ins(%A, %B : {a}, {b}) outs(%C : {c})
      return
    }}"""
    return gcg.compile(text, target="cpu", threads=1)


FILLS = {
    "of the whole result": ("linalg.fill ins(%z : f32) outs(%C : {c})", True),
    "of a part of it": (
        """affine.for %i = 0 to 20 {{ affine.for %j = 1 to 70 {{
             affine.store %z, %C[%i, %j] : {c} }} }}""",
        False,
    ),
    "followed by an access": (
        """linalg.fill ins(%z : f32) outs(%C : {c})
           affine.for %i = 0 to 1 {{ affine.store %z, %C[%i + 3, 5] : {c} }}""",
        False,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("k", [30, 1100])
@pytest.mark.parametrize(("fill", "fused"), FILLS.values(), ids=FILLS)
def test_sums_start_from_what_a_fill_stores(fill: str, fused: bool, k: int):
    program = started(fill, k)
    a, b = integers(20, k), integers(k, 70)
    c = np.full((20, 70), 5, "f4")
    program.f(a, b, c, 3.0)
    expected = np.full((20, 70), 3, "f4")
    if "= 1 to" in fill:
        expected[:, 0] = 5
    assert np.array_equal(c, expected + a @ b)
    tiles_start = re.search(r"= splat_\d+x\d+xf32", program.source("f"))
    assert bool(tiles_start) == fused


def test_inner_products_start_from_what_a_fill_stores():
    text = """func.func @f(%A: tensor<30x400xf32>, %x: tensor<400xf32>)
        -> tensor<30xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<30xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<30xf32>) -> tensor<30xf32>
      %y = linalg.matvec ins(%A, %x : tensor<30x400xf32>, tensor<400xf32>)
                         outs(%i : tensor<30xf32>) -> tensor<30xf32>
      return %y : tensor<30xf32>
    }"""
    program = gcg.compile(text, target="cpu")
    a, x = integers(30, 400), integers(400)
    first, second = program.f(a, x), program.f(2 * a, x)
    assert np.array_equal(first, a @ x)
    assert np.array_equal(second, 2 * (a @ x))
    assert "load_strided" not in program.source("f")


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_panels_too_large_for_the_cache_serve_all_rows_at_once(threads: int):
    image, filters = integers(1, 6, 7, 130), integers(3, 3, 130, 520)
    text = """func.func @f(%x: memref<1x6x7x130xf32>, %w: memref<3x3x130x520xf32>,
                            %y: memref<1x4x5x520xf32>) {
      linalg.conv_2d_nhwc_hwcf
        ins(%x, %w : memref<1x6x7x130xf32>, memref<3x3x130x520xf32>)
        outs(%y : memref<1x4x5x520xf32>)
      return
    }"""
    result = np.ones((1, 4, 5, 520), "f4")
    gcg.compile(text, target="cpu", threads=threads).f(image, filters, result)
    taps = (
        np.einsum("yxc,cf->yxf", image[0, i : i + 4, j : j + 5], filters[i, j])
        for i, j in np.ndindex(3, 3)
    )
    assert np.array_equal(result[0], 1 + sum(taps))


@pytest.mark.parametrize("threads", [1, 2])
def test_outer_axes_go_inside_where_rows_fit_the_cache_and_panels_do_not(threads: int):
    model = Machine(threads, VectorUnit(512, 32), 1 << 20)
    late = plan(Problem(7, 512, (3, 1536), 7, 32, True, False), model)
    assert isinstance(late, OuterPanels)
    assert (late.packs, late.tiling.stripes) == (True, threads)
    few_panels = plan(Problem(56, 128, (3, 384), 28, 32, True, False), model)
    many_rows = plan(Problem(56, 512, (3, 1536), 56, 32, True, False), model)
    batch = plan(Problem(7, 512, (3, 1536), 7, 32, True, True), model)
    assert not any(isinstance(p, OuterPanels) for p in (few_panels, many_rows, batch))


def test_outer_axes_go_inside_where_threads_would_meet_for_every_block():
    layer = Problem(14, 256, (3, 768), 14, 32, True, False)
    inside = {
        threads: isinstance(plan(layer, made), OuterPanels)
        for threads in (1, 2, 3, 4, 8)
        for made in [Machine(threads, VectorUnit(512, 32))]
    }
    assert inside == {1: True, 2: True, 3: False, 4: True, 8: False}
    one_block = replace(layer, columns=128, reduction=(384,))
    made = plan(one_block, Machine(2, VectorUnit(512, 32)))
    assert not isinstance(made, OuterPanels)


def test_threads_share_lines_where_panels_are_too_few():
    layer = Problem(28, 128, (3, 384), 28, 32, True, False, lines=28)
    windows = replace(layer, left_shares=(0.36, 0.12))
    splits = {
        threads: (made.parts, made.tiling.stripes)
        for threads in (2, 3, 4)
        for made in [plan(windows, Machine(threads, VectorUnit(512, 32)))]
        if isinstance(made, OuterPanels)
    }
    assert splits == {2: (2, 1), 3: (3, 1), 4: (4, 1)}
    far = replace(windows, rows=224, outer=224, lines=224)
    assert not isinstance(plan(far, Machine(2, VectorUnit(512, 32))), OuterPanels)


@pytest.mark.drawn(6)
@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("extents", [(1, 9, 15), (2, 6, 8), (7, 3, 6)])
def test_images_whose_lines_threads_share(extents: tuple[int, int, int], threads: int):
    images, high, wide = extents
    x, w = integers(images, high + 2, wide + 2, 70), integers(3, 3, 70, 130)
    types = f"memref<{images}x{high + 2}x{wide + 2}x70xf32>, memref<3x3x70x130xf32>"
    result = f"memref<{images}x{high}x{wide}x130xf32>"
    text = f"""func.func @f(%x: {types.replace(", ", ", %w: ")}, %y: {result}) {{
      linalg.conv_2d_nhwc_hwcf ins(%x, %w : {types}) outs(%y : {result})
      return
    }}"""
    program = gcg.compile(text, target="cpu", threads=threads)
    y = np.ones((images, high, wide, 130), "f4")
    program.f(x, w, y)
    taps = (
        np.einsum("nyxc,cf->nyxf", x[:, i : i + high, j : j + wide], w[i, j])
        for i, j in np.ndindex(3, 3)
    )
    assert np.array_equal(y, 1 + sum(taps))
    assert "max(0, " in program.source("f")
    assert program.source("f").count("in prange") == (threads > 1)


@pytest.mark.parametrize("columns", [196, 260])
def test_edges_of_few_columns_are_cheap(columns: int):
    problem = Problem(256, columns, (999,), 1, 32, True, False)
    made = plan(problem, Machine(2, VectorUnit(512, 32))).tiling
    assert columns % made.columns == 4
