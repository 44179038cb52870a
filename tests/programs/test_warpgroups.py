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
