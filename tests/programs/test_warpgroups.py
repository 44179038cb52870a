"""Programs of nvgpu for sm_90: tensor copies, mbarriers, products by four warps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.parser import parse_module
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import is_proven
from tests.programs.warpgroup_texts import Product, tile_by_store

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.KernelUnproven")
STORED = {"f16": "f2", "f32": "f4", "i8": "i1", "i32": "i4"}
Arrays = tuple[np.ndarray[Any, Any], ...]


def arrays(p: Product) -> Arrays:
    """Small integers, which every type holds exactly."""
    rng = np.random.default_rng(0)
    shape_b = (p.k, p.n) if p.by_columns else (p.n, p.k)
    shapes = (p.m, p.k), shape_b
    a, b = (rng.integers(-4, 5, s).astype(STORED[p.factor]) for s in shapes)
    extents = -(-p.m // p.tile_m) * p.tile_m, -(-p.n // p.tile_n) * p.tile_n
    return a, b, np.full(extents, -7, STORED[p.total])


def agrees(p: Product, a: Any, b: Any, c: Any) -> None:
    right = np.zeros(c.shape)
    right[: p.m, : p.n] = a.astype("f8") @ (b if p.by_columns else b.T).astype("f8")
    assert (c == right).all()


PRODUCTS = [
    Product(),
    Product(k=128, stages=1),
    Product(m=128, n=128, stages=2, k=192),
    Product(m=56, n=120, k=72, stages=2),
    Product(tile_m=128, m=128, tile_n=128, n=128, k=64, stages=1),
    Product(by_columns=False, tile_n=128, n=128, k=128, stages=2),
    Product(span=64, tile_n=32, n=32, k=96),
    Product(span=32, tile_n=16, n=16, k=48, by_columns=False),
    Product(total="f16", k=128),
    Product(factor="i8", total="i32", by_columns=False, k=256, stages=2),
    Product(factor="f32", by_columns=False, tile_n=32, n=32, k=64, stages=2),
]


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("p", PRODUCTS, ids=str)
def test_products(p: Product) -> None:
    a, b, c = arrays(p)
    gcg.compile(p.text, target="sim").f(a, b, c)
    agrees(p, a, b, c)


@pytest.mark.slow
def test_the_interpreter_agrees() -> None:
    p = Product(n=24, tile_n=24, k=96, stages=2, span=64, by_columns=False)
    a, b, c = arrays(p)
    gcg.compile(p.text, target="interp").f(a, b, c)
    agrees(p, a, b, c)


def test_boxes_are_stored_and_clipped() -> None:
    a, b = np.arange(60 * 64, dtype="f4").reshape(60, 64), np.zeros((60, 64), "f4")
    gcg.compile(tile_by_store(), target="sim").f(a, b)
    assert (b == 2 * a).all()


def test_what_is_not_proven_is_said() -> None:
    with pytest.warns(errors.KernelUnproven, match="not proven free of races"):
        gcg.compile(tile_by_store(), target="sim").source("f")


def test_a_kernel_that_the_proof_does_not_model_is_not_proven() -> None:
    """No barrier of it may be dropped because nothing was found without it."""
    program = gcg.compile(tile_by_store(), target="sim")
    module = parse_module(program.stages("f")[-1][1])
    (kernel,) = (op for op in module.walk() if op.name == "gpu.func")
    assert not is_proven(kernel, Surroundings.of(module))


BYTES = Product().step * 256
UNEXPECTED, EARLY = "deadlock", "not waited for"
MUTATIONS = [
    ("full: no wait", "try_wait.parity %full[%s], %p, %ticks", "", EARLY),
    ("empty: no wait", "try_wait.parity %empty[%s], %p, %ticks", "", "more arrivals"),
    ("full: nothing expected", "arrive.expect_tx %full[%s], %bytes", "", UNEXPECTED),
    ("empty: no arrival", "%t = nvgpu.mbarrier.arrive %empty[%s]", "", UNEXPECTED),
    ("too many bytes", f"constant {BYTES}", "constant 16400", "16 bytes missing"),
    ("too few bytes", f"constant {BYTES}", "constant 16368", "more than expected"),
    ("full: phase flipped", "eq, %turn, %c1", "eq, %turn, %c0", EARLY),
    ("empty: phase flipped", "eq, %turn, %c0", "eq, %turn, %c1", UNEXPECTED),
    ("one arrival too many", "init %full[%s], %c1", "init %full[%s], %two", "1 of 2"),
    ("too few arrivals", "init %empty[%s], %c128", "init %empty[%s], %c1", UNEXPECTED),
    ("not initialised", "nvgpu.mbarrier.init %empty[%s], %c128", "", "not initialised"),
    ("another barrier", "%full[%s] to %va", "%empty[%s] to %va", UNEXPECTED),
    ("another stage waited for", "%full[%s], %p", "%full[%c0], %p", EARLY),
    ("barrier dropped", "    gpu.barrier", "", "not initialised"),
    ("a copy dropped", "nvgpu.tma.async.load %ma", "", "8192 bytes missing"),
    ("two threads produce", "eq, %tx, %c128", "uge, %tx, %c128", "more arrivals"),
    ("half a warpgroup", "ult, %tx, %c128", "ult, %tx, %bk", "part of a warpgroup"),
]
"""What is done to a ring: the text at which a line is dropped, or what replaces it.

And what the emulated device says of it.
"""


def mutated(text: str, old: str, new: str) -> str:
    """Without the operation that has ``old`` in it, or with ``new`` in its place."""
    assert old in text, old
    if new:
        return text.replace(old, new)
    start = text.rindex("\n", 0, text.index(old) + 1)
    stop = text.index("\n", text.index(old) + 1)
    while text[stop + 1 :].lstrip().startswith(":"):
        stop = text.index("\n", stop + 1)
    return text[:start] + text[stop:]


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [row[1:] for row in MUTATIONS],
    ids=[row[0] for row in MUTATIONS],
)
def test_a_ring_that_is_spoilt(old: str, new: str, told: str) -> None:
    p = Product(k=128, stages=1 if "%c0]" not in new else 2)
    with pytest.raises(errors.LaunchFailed, match=told):
        gcg.compile(mutated(p.text, old, new), target="sim").f(*arrays(p))


STORE_MUTATIONS = [
    ("fence dropped", "nvvm.fence.proxy", "", "no fence.proxy.async"),
    ("barrier dropped", "gpu.barrier\n    nvgpu.tma", "nvgpu.tma", "no barrier"),
    ("stores not waited for", "nvvm.cp.async.bulk.wait_group 0", "", EARLY),
    ("no group", "nvvm.cp.async.bulk.commit.group", "", EARLY),
    ("wait dropped", "nvgpu.mbarrier.try_wait.parity", "", EARLY),
    ("all threads copy", "to %s, predicate = %first", "to %s", EARLY),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [row[1:] for row in STORE_MUTATIONS],
    ids=[row[0] for row in STORE_MUTATIONS],
)
def test_a_store_that_is_spoilt(old: str, new: str, told: str) -> None:
    x = np.ones((60, 64), "f4")
    with pytest.raises(errors.LaunchFailed, match=told):
        gcg.compile(mutated(tile_by_store(), old, new), target="sim").f(x, x.copy())


TWO_MAPS = """
!box = !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32, 3>, swizzle = none,
    l2promo = none, oob = zero, interleave = none>
func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %n = arith.constant 64 : index
  %ub = memref.cast %b : memref<64x64xf32> to memref<*xf32>
  %view = memref.reinterpret_cast %b to offset: [0], sizes: [64, 64], strides: [64, 1]
      : memref<64x64xf32> to memref<64x64xf32, strided<[64, 1]>>
  %uv = memref.cast %view
      : memref<64x64xf32, strided<[64, 1]>> to memref<*xf32>
  %mb = nvgpu.tma.create.descriptor %ub box[%c32, %c32]
      : memref<*xf32> -> !box
  %mc = nvgpu.tma.create.descriptor %{of} box[%c32, %c32]
      : memref<*xf32> -> !box
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c2, %gz = %c1)
             threads(%tx, %ty, %tz) in (%ex = %n, %ey = %c1, %ez = %c1)
             workgroup(%s : memref<32x32xf32, 3>) {{
    %first = arith.cmpi eq, %tx, %c0 : index
    %x = arith.muli %bx, %c32 : index
    %y = arith.muli %by, %c32 : index
    %column = arith.remui %tx, %c32 : index
    %row = arith.divui %tx, %c32 : index
    %bi = arith.addi %x, %by : index
    %b32 = arith.index_cast %bi : index to i32
    %v = arith.sitofp %b32 : i32 to f32
    scf.for %i = %row to %c32 step %c2 {{
      memref.store %v, %s[%i, %column] : memref<32x32xf32, 3>
    }}
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>,
        space = #nvvm.shared_space<cta>}}
    gpu.barrier
    scf.if %first {{
      nvgpu.tma.async.store %s to %mb[%x, %y] : memref<32x32xf32, 3> -> !box
      nvgpu.tma.async.store %s to %mc[{corner}] : memref<32x32xf32, 3> -> !box
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
    }}
    gpu.terminator
  }}
  return
}}
"""


@pytest.mark.parametrize("corner", ["%x, %y", "%y, %x"])
def test_maps_of_one_buffer_are_one_array(corner: str) -> None:
    """Blocks that store boxes by both write the same cells, in no order."""
    text = TWO_MAPS.format(of="ub", corner=corner)
    with pytest.raises(errors.CompileError, match=r"of b is still|race on b"):
        gcg.compile(text, target="sim", arch="sm_90")["f"].executable()


def test_maps_of_views_are_not_known() -> None:
    text = TWO_MAPS.format(of="uv", corner="%y, %x")
    with pytest.warns(errors.KernelUnproven, match=r"tma\.async\.store"):
        gcg.compile(text, target="sim", arch="sm_90")["f"].executable()
