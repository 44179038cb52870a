"""Hand-written products of tiles, double buffered: on tensor cores, or by threads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.runtime.cuda.compilation import compile_cubin, disassemble
from gpucodegen.sass.listing import listings, main_loop
from tests.passes.lowering import apply
from tests.programs.own_tiles import OwnTiles

FREE = {"reassociate": True}
REASSOC = "fastmath<reassoc>"
TF32: dict[str, Any] = {**FREE, "precision": "tf32"}
CASES = [
    (OwnTiles((16, 16, 16)), (2, 1, 3), FREE, "m16n8k16", 1),
    (OwnTiles((32, 32, 32)), (2, 2, 3), FREE, "m16n8k16", 4),
    (OwnTiles((32, 32, 32), flags=REASSOC), (1, 3, 2), {}, "m16n8k16", 4),
    (OwnTiles((64, 64, 32)), (2, 1, 2), FREE, "m16n8k16", 4),
    (OwnTiles((128, 128, 32)), (1, 2, 3), FREE, "m16n8k16", 4),
    (OwnTiles((48, 32, 16), slots=3), (2, 1, 4), FREE, "m16n8k16", 6),
    (OwnTiles((32, 64, 32), turned=True), (2, 1, 2), FREE, "m16n8k16", 4),
    (OwnTiles((32, 32, 32), points=True), (2, 2, 2), FREE, "m16n8k16", 4),
    (OwnTiles((32, 32, 32), sums="f16"), (2, 1, 3), FREE, "m16n8k16", 4),
    (OwnTiles((32, 32, 16), "bf16"), (1, 2, 2), FREE, "m16n8k16", 4),
    (OwnTiles((32, 32, 32), "i8", "i32"), (2, 2, 2), {}, "m16n8k32", 4),
    (OwnTiles((32, 32, 64), "i8", "i32", turned=True), (1, 2, 2), {}, "m16n8k32", 4),
    (OwnTiles((32, 32, 16), "f32"), (2, 1, 2), TF32, "m16n8k8", 4),
    (
        OwnTiles((32, 32, 16), "f32", turned=True),
        (2, 1, 2),
        {**FREE, "precision": "3xtf32"},
        "m16n8k8",
        4,
    ),
    (OwnTiles((32, 32, 8), "f64", "f64"), (2, 1, 3), FREE, "m16n8k4", 4),
    (OwnTiles((32, 32, 16), "f8E4M3FN"), (1, 1, 2), FREE, "m16n8k16", 4),
]


def told(program: gcg.Program) -> str:
    """What is told of the product, the last of the rows."""
    return program.transfers("f")[-1].how


@pytest.mark.drawn(6)
@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("tiles", "counts", "options", "shape", "warps"), CASES, ids=str
)
def test_against_numpy(
    tiles: OwnTiles,
    counts: tuple[int, int, int],
    options: dict[str, Any],
    shape: str,
    warps: int,
) -> None:
    program = tiles.check(counts, **options)
    (text,) = program.assembly("f").values()
    assert "mma.sync.aligned" in text
    assert "cp.async" in text
    assert f"mma.sync {shape}" in told(program)
    assert f"{warps} warp" in told(program)
    assert "in registers over the loop" in told(program)
    assert f"reqntid {32 * warps}" in text or f"maxntid {32 * warps}" in text


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    tile=st.tuples(*[st.integers(1, 4)] * 3),
    grain=st.sampled_from([8, 16]),
    kinds=st.sampled_from(
        [("f16", "f32"), ("f16", "f16"), ("i8", "i32"), ("f32",) * 2]
    ),
    slots=st.sampled_from([2, 3, 4]),
    order=st.permutations("ijk"),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    counts=st.tuples(*[st.integers(1, 2)] * 2, st.integers(1, 5)),
)
def test_any_tile(
    tile: tuple[int, int, int],
    grain: int,
    kinds: tuple[str, str],
    slots: int,
    order: list[str],
    flags: tuple[bool, bool, bool],
    counts: tuple[int, int, int],
) -> None:
    m, n, k = (n * grain for n in tile)
    turned, points, is_free = flags
    way = slots, turned, points, "".join(order)
    OwnTiles((m, n, k), *kinds, *way).check(counts, reassociate=is_free)


TILED = "tile{sizes=[32,32,32]},promote"


@pytest.mark.slow
@pytest.mark.parametrize(
    "passes",
    [
        TILED,
        f"{TILED}{{transfers=dma}}",
        f"{TILED}{{transfers=dma}},overlap-transfers{{stages=3}}",
    ],
)
@pytest.mark.sampled(1)
def test_tiles_that_transformations_make(passes: str) -> None:
    text = str(apply(passes, naive(64, 32, 160)))
    program = gcg.compile(text, target="sim", reassociate=True)
    tiles = OwnTiles((32, 32, 32))
    a, b, c = tiles.arguments((2, 1, 5))
    right = tiles.answer(a, b, c)
    program["f"](a, b, c)
    assert (c == right).all()
    assert "mma.sync" in told(program)


def naive(m: int, n: int, k: int) -> str:
    a, b, c = f"memref<{m}x{k}xf16>", f"memref<{k}x{n}xf16>", f"memref<{m}x{n}xf32>"
    return f"""func.func @f(%A: {a}, %B: {b}, %C: {c}) {{
  affine.for %i = 0 to {m} {{ affine.for %j = 0 to {n} {{ affine.for %k = 0 to {k} {{
    %x = affine.load %A[%i, %k] : {a}
    %y = affine.load %B[%k, %j] : {b}
    %z = affine.load %C[%i, %j] : {c}
    %left = arith.extf %x : f16 to f32
    %right = arith.extf %y : f16 to f32
    %p = arith.mulf %left, %right : f32
    %s = arith.addf %z, %p : f32
    affine.store %s, %C[%i, %j] : {c}
  }} }} }}
  return
}}"""


@pytest.mark.slow
def test_a_slice_of_sums_needs_room() -> None:
    """Six slots take 96 KiB of the 99 that every device has, and 163 of an A100."""
    tiles = OwnTiles((128, 128, 32), slots=6)
    assert "no shared memory" in told(tiles.check((1, 1, 2), **FREE))
    wide = tiles.check((1, 2, 2), arch="sm_80", **FREE)
    assert "mma.sync" in told(wide)


EXACT = {"exact": True}
OTHERS = [
    (OwnTiles((32, 32, 32)), {}, "2 x 4", "reassociate=True"),
    (OwnTiles((32, 32, 32), sums="f16"), {}, "2 x 4", "reassociate=True"),
    (OwnTiles((24, 32, 32)), FREE, "2 x 2", "24 x 32 x 32"),
    (OwnTiles((32, 32, 8)), FREE, "2 x 4", "32 x 32 x 8"),
    (OwnTiles((24, 32, 8), "i8", "i32"), {}, "2 x 2", "24 x 32 x 8"),
    (OwnTiles((64, 64, 16), "f32"), FREE, "4 x 8", "precision='tf32'"),
    (OwnTiles((64, 64, 16), "f32", turned=True), {}, "4 x 8", "precision='tf32'"),
    (OwnTiles((16, 16, 16)), {}, "", "reassociate=True"),
    (OwnTiles((32, 32, 32), flags=REASSOC), EXACT, "", "exact=True"),
]


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("tiles", "options", "quads", "why"), OTHERS, ids=str)
def test_others_are_multiplied_by_threads(
    tiles: OwnTiles, options: dict[str, Any], quads: str, why: str
) -> None:
    program = tiles.check((2, 1, 2), **options)
    (text,) = program.assembly("f").values()
    assert "mma" not in text
    kind = f"threads of {quads}" if quads else "an element a thread"
    assert kind in told(program)
    assert why in told(program)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, EXACT], ids=str)
def test_sums_keep_their_order(options: dict[str, Any]) -> None:
    """From what C holds, a term after the other: multiply-adds that round once."""
    tiles = OwnTiles((32, 32, 8), "f32")
    rng = np.random.default_rng(7)
    a, b, c = (rng.random(s, np.float32) for s in ((32, 24), (24, 64), (32, 64)))
    right, is_fused = c.astype("f8"), not options
    for k in range(24):
        product = a[:, k, None].astype("f8") * b[k].astype("f8")
        right += product if is_fused else product.astype("f4")
        right = right.astype("f4").astype("f8")
    gcg.compile(tiles.text, target="sim", **options)["f"](a, b, c)
    assert (c == right).all()


DOUBLED = """affine.for %ii = 0 to 32 { affine.for %jj = 0 to 32 {
          %o = affine.load %C[%i + %ii, %j + %jj] : memref<?x?xf32>
          %oo = arith.addf %o, %o : f32
          affine.store %oo, %C[%i + %ii, %j + %jj] : memref<?x?xf32>
        } }
        affine.for %ii = 0 to 32 {"""


@pytest.mark.slow
@pytest.mark.parametrize("is_free", [False, True])
def test_sums_are_stored_where_the_loop_needs_them(is_free: bool) -> None:
    tiles = OwnTiles((32, 32, 32))
    text = tiles.text.replace("affine.for %ii = 0 to 32 {", DOUBLED)
    program = gcg.compile(text, target="sim", reassociate=is_free)
    a, b, c = tiles.arguments((2, 1, 3))
    right = c.astype("f8")
    for k in range(0, 96, 32):
        right = 2 * right + a[:, k : k + 32].astype("f8") @ b[k : k + 32].astype("f8")
    program["f"](a, b, c)
    assert (c == right).all()
    assert "sums go to the result behind each product" in told(program)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize(("terms", "is_free"), [(0, True), (2, True), (2, False)])
def test_extents_that_only_a_call_tells(terms: int, is_free: bool) -> None:
    """Sums that start from C start in the loop, which may not run."""
    options = {"specialize": False, "reassociate": is_free}
    program = OwnTiles((32, 32, 32)).check((1, 2, terms), **options)
    assert ("mma.sync" in told(program)) == is_free
    assert ("in registers over the loop" in told(program)) == is_free


@pytest.mark.slow
@pytest.mark.parametrize("is_free", [False, True])
def test_an_accumulator_in_fast_memory(is_free: bool) -> None:
    """As text does that has no memory to spare for C: zeros, sums, and a copy."""
    tiles, own = OwnTiles((32, 32, 32)), "memref<32x32xf32, 2>"
    text = tiles.text.replace(
        "%C[%i + %ii, %j + %jj] : memref<?x?xf32>", f"%acc[%ii, %jj] : {own}"
    )
    text = text.replace(
        "affine.if #has_any",
        f"""%acc = memref.alloc() : {own}
      %zero = arith.constant 0.0 : f32
      affine.for %ii = 0 to 32 {{ affine.for %jj = 0 to 32 {{
        affine.store %zero, %acc[%ii, %jj] : {own}
      }} }}
      affine.if #has_any""",
    ).replace(
        "memref.dealloc %a :",
        f"""affine.for %ii = 0 to 32 {{ affine.for %jj = 0 to 32 {{
        %v = affine.load %acc[%ii, %jj] : {own}
        affine.store %v, %C[%i + %ii, %j + %jj] : memref<?x?xf32>
      }} }}
      memref.dealloc %a :""",
    )
    program = gcg.compile(text, target="sim", reassociate=is_free)
    a, b, c = tiles.arguments((2, 2, 2))
    program["f"](a, b, c)
    assert (c == a.astype("f8") @ b.astype("f8")).all()
    kind = "mma.sync" if is_free else "multiply-adds"
    assert f"%acc: {kind}" in str(program.transfers("f")[-1])
    assert "in registers" in told(program)


OF_2019 = {
    "func.func": "func",
    "memref.dma": "dma",
    "memref.alloc": "alloc",
    "memref.dealloc": "dealloc",
    "arith.constant": "constant",
    "arith.mulf": "mulf",
    "arith.addf": "addf",
    "arith.extf": "fpext",
    "memref.dim %A, %c0": "dim %A, 0",
    "memref.dim %A, %c1": "dim %A, 1",
    "memref.dim %B, %c1": "dim %B, 1",
    "memref.dim %C, %c1": "dim %C, 1",
    "affine_map<(d0) -> (d0)>": "(d0) -> (d0)",
}


def of_2019(text: str) -> str:
    """The same in the spelling of 2019, which has no word for the order of sums."""
    for new, old in OF_2019.items():
        assert new in text
        text = text.replace(new, old)
    return text


@pytest.mark.slow
def test_a_text_of_2019() -> None:
    tiles = OwnTiles((32, 32, 32))
    program = gcg.compile(of_2019(tiles.text), target="sim", reassociate=True)
    a, b, c = tiles.arguments((2, 1, 2))
    right = tiles.answer(a, b, c)
    program["f"](a, b, c)
    assert (c == right).all()
    assert "mma.sync" in told(program)


WAITS = "%a_tag", "%b_tag"


def without_waits(text: str, *tags: str) -> str:
    waits = tuple(f"memref.dma_wait {tag}" for tag in tags)
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith(waits))


@pytest.mark.slow
@pytest.mark.parametrize("tag", WAITS)
def test_a_text_without_a_wait_is_refused(tag: str) -> None:
    tiles = OwnTiles((32, 32, 32))
    text = without_waits(tiles.text, tag)
    with pytest.raises(errors.TransferOvertaken, match="dma_start"):
        gcg.compile(text, target="sim", **FREE)["f"](*tiles.arguments((1, 2, 2)))


def test_the_emulated_device_sees_that_nothing_waits() -> None:
    tiles = OwnTiles((32, 32, 32))
    text = without_waits(tiles.text, *WAITS)
    program = gcg.compile(text, target="sim", verify=False, **FREE)
    with pytest.raises(errors.UnfinishedTransfer):
        program["f"](*tiles.arguments((1, 2, 2)))
    assert "mma.sync" in told(program)


@pytest.mark.slow
@pytest.mark.sass
@pytest.mark.parametrize("architecture", [(8, 0), (9, 0)])
def test_machine_code(architecture: tuple[int, int]) -> None:
    """Copies of 16 bytes to one slot while tensor cores multiply what is in the other.

    In the loop, the wait for older copies stands before all copies that it starts, and
    these before the products, behind which nothing waits for them.
    """
    program = OwnTiles((64, 64, 32)).check((1, 1, 4), **FREE)
    (kernel,) = program["f"].executable().kernels
    cubin = compile_cubin(kernel, architecture)
    assert cubin.spills == 0
    listing = listings(disassemble(cubin.code))[cubin.name]
    names = [x.name for x in main_loop(listing)]
    products = [at for at, name in enumerate(names) if name.startswith("HMMA")]
    copies = [at for at, name in enumerate(names) if name.startswith("LDGSTS")]
    waits = [at for at, name in enumerate(names) if name.startswith("DEPBAR")]
    assert {names[at] for at in products} == {"HMMA.16816.F32"}
    assert all("128" in names[at] for at in copies)
    assert max(waits) < min(copies) <= max(copies) < min(products)
    assert sum(name.startswith("LDSM") for name in names) <= len(products) / 2
    assert not {"LDL", "STL", "LDG", "STG", "FFMA"} & {n.split(".")[0] for n in names}
    slots = [
        int(n)
        for n in re.findall(r"memref<(\d)x64x32xf16, 2>", OwnTiles((64, 64, 32)).text)
    ]
    assert min(slots) >= 2


AWAITED_INSIDE = """
func.func @f(%A: memref<32x64xf32>, %B: memref<64x32xf32>, %C: memref<64x32xf32>,
    %D: memref<64x32xf32>) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 1024 : index
  %na = arith.constant 512 : index
  %ra = arith.constant 16 : index
  %sa = arith.constant 64 : index
  affine.for %g = 0 to 64 step 32 {
  %a = memref.alloc() : memref<32x16xf32, 2>
  %b = memref.alloc() : memref<16x32xf32, 2>
  %c = memref.alloc() : memref<32x32xf32, 2>
  %tag = memref.alloc() : memref<1xi32>
  %tagc = memref.alloc() : memref<1xi32>
  memref.dma_start %C[%g, %c0], %c[%c0, %c0], %n, %tagc[%c0]
        : memref<64x32xf32>, memref<32x32xf32, 2>, memref<1xi32>
  affine.for %k = 0 to 64 step 16 {
    memref.dma_start %A[%c0, %k], %a[%c0, %c0], %na, %tag[%c0], %sa, %ra
        : memref<32x64xf32>, memref<32x16xf32, 2>, memref<1xi32>
    memref.dma_wait %tag[%c0], %na : memref<1xi32>
    memref.dma_start %B[%k, %c0], %b[%c0, %c0], %na, %tag[%c0]
        : memref<64x32xf32>, memref<16x32xf32, 2>, memref<1xi32>
    memref.dma_wait %tag[%c0], %na : memref<1xi32>
    affine.if affine_set<(d0) : (d0 == 0)>(%k) {
      memref.dma_wait %tagc[%c0], %n : memref<1xi32>
    }
    affine.for %i = 0 to 32 { affine.for %j = 0 to 32 { affine.for %kk = 0 to 16 {
      %x = affine.load %a[%i, %kk] : memref<32x16xf32, 2>
      %y = affine.load %b[%kk, %j] : memref<16x32xf32, 2>
      %z = affine.load %c[%i, %j] : memref<32x32xf32, 2>
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %z, %p : f32
      affine.store %s, %c[%i, %j] : memref<32x32xf32, 2>
    } } }
  }
  affine.for %i = 0 to 32 { affine.for %j = 0 to 32 {
      %z = affine.load %c[%i, %j] : memref<32x32xf32, 2>
      affine.store %z, %D[%g + %i, %j] : memref<64x32xf32>
  } }
  }
  return
}
"""


@pytest.mark.slow
def test_sums_whose_start_is_awaited_in_the_loop_are_read_there() -> None:
    program = gcg.compile(AWAITED_INSIDE, target="sim")
    rng = np.random.default_rng(0)
    shapes = (32, 64), (64, 32), (64, 32)
    a, b, c = (rng.integers(-3, 4, shape).astype("f4") for shape in shapes)
    d = np.zeros((64, 32), "f4")
    program.f(a, b, c, d)
    np.testing.assert_array_equal(d, c + np.tile(a @ b, (2, 1)))
