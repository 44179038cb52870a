"""Kernels whose threads exchange values: results as NumPy has them, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.compiling.pipeline import all_passes
from gpucodegen.dialects.func import Function
from gpucodegen.options import Options
from gpucodegen.passes.framework.base import run_pipeline
from tests.programs.warp_texts import NUMPY, SHARED, Block, each, launch

RANDOM = np.random.default_rng(0)
BLOCKS: list[Block] = [
    (64, 1, 1),
    (40, 1, 1),
    (20, 3, 1),
    (8, 4, 3),
    (16, 1, 1),
    (7, 1, 1),
]


def run(text: str, *arguments: Any, target: str = "cuda") -> None:
    gcg.compile(text, target=target).f(*arguments)


def numbers(kind: str, *shape: int) -> np.ndarray:
    return RANDOM.integers(-9, 10, shape).astype(NUMPY[kind])


def lanes(block: Block) -> np.ndarray:
    return np.arange(int(np.prod(block))) % 32


# -- where a thread is -----------------------------------------------------------------

IDENTITIES = """
    %l = gpu.lane_id
    %w = gpu.subgroup_id : index
    %k = gpu.num_subgroups : index
    %z = gpu.subgroup_size : index
    %w1 = arith.muli %w, %c100 : index
    %k1 = arith.muli %k, %c10000 : index
    %v0 = arith.addi %l, %w1 : index
    %v1 = arith.addi %v0, %k1 : index
    %v2 = arith.subi %v1, %z : index
    %v = arith.index_cast %v2 : index to i32
    memref.store %v, %a[%i] : memref<?xi32>"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cuda", "cpu"])
@pytest.mark.cases("block", [(64, 1, 1), (20, 3, 1), (8, 4, 3)], parts=2)
def test_threads_are_counted_along_x_then_y_then_z(block: Block, target: str):
    i = np.arange(int(np.prod(block)))
    found = np.zeros(len(i), "i4")
    run(launch(IDENTITIES, ["memref<?xi32>"], block), found, target=target)
    wanted = i % 32 + i // 32 * 100 + -(-len(i) // 32) * 10000 - 32
    np.testing.assert_array_equal(found, wanted)


# -- shuffles --------------------------------------------------------------------------

OTHER: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "xor": lambda lane, by: lane ^ by,
    "up": lambda lane, by: lane - by,
    "down": lambda lane, by: lane + by,
    "idx": lambda lane, by: 0 * lane + by,
}
SHUFFLES = [
    *(("xor", 5, 32), ("xor", 2, 8), ("xor", 20, 16), ("up", 3, 32), ("up", 2, 16)),
    *(
        ("down", 7, 32),
        ("down", 20, 32),
        ("down", 40, 32),
        ("idx", 9, 32),
        ("idx", 3, 4),
    ),
]


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", NUMPY)
def test_a_shuffle_has_the_value_of_another_lane(kind: str):
    block, n = (32, 2, 1), 64
    body = [f"    %v = memref.load %a[%i] : memref<{n}x{kind}>"]
    for k, (mode, by, width) in enumerate(SHUFFLES):
        body += [
            f"    %o{k} = arith.constant {by} : i32",
            f"    %w{k} = arith.constant {width} : i32",
            f"    %r{k}, %p{k} = gpu.shuffle {mode} %v, %o{k}, %w{k} : {kind}",
            f"    memref.store %r{k}, %b[%c{k}, %i] : memref<10x{n}x{kind}>",
            f"    memref.store %p{k}, %c[%c{k}, %i] : memref<10x{n}xi1>",
        ]
    types = [f"memref<{n}x{kind}>", f"memref<10x{n}x{kind}>", f"memref<10x{n}xi1>"]
    a, lane = numbers(kind, n), lanes(block)
    b, valid = np.zeros((10, n), NUMPY[kind]), np.zeros((10, n), "?")
    run(launch("\n".join(body), types, block), a, b, valid)
    for k, (mode, by, width) in enumerate(SHUFFLES):
        other = OTHER[mode](lane, by)
        wanted = (other >= 0) & (other < width) & (lane < width)
        np.testing.assert_array_equal(valid[k], wanted, (mode, by, width))
        from_there = a[(np.arange(n) - lane + other)[wanted]]
        np.testing.assert_array_equal(b[k][wanted], from_there, (mode, by, width))


def test_vectors_are_shuffled_and_reduced_element_by_element():
    body = """
    %v = vector.load %a[%i, %c0] : memref<40x4xf16>, vector<4xf16>
    %one = arith.constant 1 : i32
    %all = arith.constant 32 : i32
    %r, %p = gpu.shuffle xor %v, %one, %all : vector<4xf16>
    %s = gpu.subgroup_reduce maximumf %v : (vector<4xf16>) -> vector<4xf16>
    vector.store %r, %b[%i, %c0] : memref<40x4xf16>, vector<4xf16>
    vector.store %s, %c[%i, %c0] : memref<40x4xf16>, vector<4xf16>"""
    a, b, c = numbers("f16", 40, 4), np.zeros((40, 4), "f2"), np.zeros((40, 4), "f2")
    run(launch(body, ["memref<40x4xf16>"] * 3, (40, 1, 1)), a, b, c)
    np.testing.assert_array_equal(b, a[np.arange(40) ^ 1])
    parts = [np.repeat(part.max(0)[None], len(part), 0) for part in (a[:32], a[32:])]
    np.testing.assert_array_equal(c, np.concatenate(parts))


def test_lanes_of_a_width_may_be_alone():
    """The first 16 lanes take part, and they are all there."""
    body = """
    %l = gpu.lane_id
    %few = arith.cmpi ult, %l, %c16 : index
    %v = memref.load %a[%i] : memref<64xi32>
    %three = arith.constant 3 : i32
    %half = arith.constant 16 : i32
    scf.if %few {
      %r, %p = gpu.shuffle xor %v, %three, %half : i32
      memref.store %r, %a[%i] : memref<64xi32>
    }"""
    a, lane = numbers("i32", 64), lanes((64, 1, 1))
    wanted = np.where(lane < 16, a[np.arange(64) ^ 3], a)
    run(launch(body, ["memref<64xi32>"]), a)
    np.testing.assert_array_equal(a, wanted)


def test_a_width_that_the_host_gives():
    text = launch(
        """
    %v = memref.load %a[%i] : memref<64xf32>
    %w = memref.load %b[] : memref<i32>
    %one = arith.constant 1 : i32
    %r, %p = gpu.shuffle down %v, %one, %w : f32
    %s = arith.select %p, %r, %v : f32
    memref.store %s, %a[%i] : memref<64xf32>""",
        ["memref<64xf32>", "memref<i32>"],
    )
    for width in (4, 32):
        a, lane = numbers("f32", 64), lanes((64, 1, 1))
        wanted = np.where(lane < width - 1, np.append(a[1:], 0), a)
        run(text, a, np.array(width, "i4"))
        np.testing.assert_array_equal(a, wanted)


def test_rotations_broadcasts_and_ballots():
    body = """
    %v = memref.load %a[%i] : memref<64xf32>
    %four = arith.constant 4 : i32
    %zero = arith.constant 0.0 : f32
    %r, %rv = gpu.rotate %v, 3, 16 : f32
    %s = gpu.subgroup_broadcast %v, specific_lane %four : f32
    %f = gpu.subgroup_broadcast %v, first_active_lane : f32
    %p = arith.cmpf ogt, %v, %zero : f32
    %q = gpu.ballot %p : i32
    %k = gpu.ballot %p : i64
    memref.store %r, %b[%c0, %i] : memref<3x64xf32>
    memref.store %s, %b[%c1, %i] : memref<3x64xf32>
    memref.store %f, %b[%c2, %i] : memref<3x64xf32>
    memref.store %q, %c[%i] : memref<64xi32>
    memref.store %k, %d[%i] : memref<64xi64>"""
    types = ["memref<64xf32>", "memref<3x64xf32>", "memref<64xi32>", "memref<64xi64>"]
    a, b = numbers("f32", 64), np.zeros((3, 64), "f4")
    narrow, wide = np.zeros(64, "u4"), np.zeros(64, "u8")
    run(launch(body, types), a, b, narrow.view("i4"), wide.view("i8"))
    lane = lanes((64, 1, 1))
    first, few = np.arange(64) - lane, lane < 16
    np.testing.assert_array_equal(b[0][few], a[first + (lane + 3) % 16][few])
    np.testing.assert_array_equal(b[1], a[first + 4])
    np.testing.assert_array_equal(b[2], a[first])
    bits = np.packbits(a > 0, bitorder="little").view("<u4").repeat(32)
    np.testing.assert_array_equal(narrow, bits)
    np.testing.assert_array_equal(wide, bits)


# -- reductions ------------------------------------------------------------------------

UNSIGNED = {"i8": "u1", "i32": "u4", "i64": "u8"}
INTEGERS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": np.minimum,
    "maxui": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
FLOATS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "minnumf": np.fmin,
    "maxnumf": np.fmax,
    "minimumf": np.minimum,
    "maximumf": np.maximum,
}


def reduced(word: str, kind: str, values: np.ndarray) -> np.ndarray:
    if word.endswith("ui"):
        values = values.view(UNSIGNED[kind])
    function = (FLOATS if kind[0] == "f" else INTEGERS)[word]
    return function.reduce(values, dtype=values.dtype).astype(values.dtype)


def data_of(kind: str, n: int) -> np.ndarray:
    """Small factors, so that no order of floats rounds; a NaN among them."""
    values = RANDOM.choice([1, -1, 2, 1, 1], n).astype(NUMPY[kind])
    if kind[0] == "i":
        return numbers(kind, n) | 1
    values[n // 2] = np.nan
    return values


@pytest.mark.drawn(14)
@pytest.mark.slow
@pytest.mark.sampled(20)
@pytest.mark.parametrize("kind", ["i8", "i32", "i64", "f16", "f32", "f64"])
@pytest.mark.parametrize("block", BLOCKS)
def test_reductions_of_blocks_and_warps(block: Block, kind: str):
    words = [*(FLOATS if kind[0] == "f" else INTEGERS)]
    n, ty = int(np.prod(block)), f"({kind}) -> {kind}"
    texts = [f"%r = gpu.all_reduce {w} %v uniform {{}} : {ty}" for w in words]
    texts += [f"%r = gpu.subgroup_reduce {w} %v uniform : {ty}" for w in words]
    a, b = data_of(kind, n), np.zeros((len(texts), n), NUMPY[kind])
    run(each(texts, kind, block, len(texts)), a, b)
    warps = [a[k : k + 32] for k in range(0, n, 32)]
    for k, word in enumerate(words):
        whole = np.full(n, reduced(word, kind, a).astype(NUMPY[kind]))
        parts = [np.full(len(w), reduced(word, kind, w)) for w in warps]
        np.testing.assert_array_equal(b[k], whole, word)
        own = np.concatenate(parts).astype(NUMPY[kind])
        np.testing.assert_array_equal(b[len(words) + k], own, word)


@pytest.mark.slow
@pytest.mark.parametrize("block", [(64, 1, 1), (20, 3, 1)])
def test_clusters_of_lanes(block: Block):
    clusters = [(4, 1), (4, 2), (8, 4), (16, 2), (32, 1), (1, 1)]
    n = int(np.prod(block))
    texts = [
        f"%r = gpu.subgroup_reduce add %v cluster(size = {size}, stride = {stride})"
        " : (i32) -> i32"
        for size, stride in clusters
    ]
    a, b = numbers("i32", n), np.zeros((len(clusters), n), "i4")
    run(each(texts, "i32", block, len(clusters)), a, b)
    i = np.arange(n)
    for k, (size, stride) in enumerate(clusters):
        span = size * stride
        key = i // span * stride + i % stride
        np.testing.assert_array_equal(b[k], np.bincount(key, a)[key], clusters[k])


@pytest.mark.slow
@pytest.mark.parametrize("block", [(64, 1, 1), (45, 1, 1)])
def test_a_body_combines_two_values(block: Block):
    n = int(np.prod(block))
    text = """%r = gpu.all_reduce %v {
    ^bb0(%x: i32, %y: i32):
      %s = arith.xori %x, %y : i32
      gpu.yield %s : i32
    } : (i32) -> i32"""
    a, b = numbers("i32", n), np.zeros((1, n), "i4")
    run(each([text], "i32", block, 1), a, b)
    np.testing.assert_array_equal(b[0], np.full(n, reduce(np.bitwise_xor, a)))


@pytest.mark.slow
def test_a_reduction_in_a_loop_of_a_kernel_of_any_size():
    text = """
gpu.module @m {
  gpu.func @k(%a: memref<?xf32>, %b: memref<3xf32>) kernel {
    %i = gpu.global_id x
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %v = memref.load %a[%i] : memref<?xf32>
    scf.for %k = %c0 to %c3 step %c1 iter_args(%x = %v) -> (f32) {
      %s = gpu.all_reduce add %x {} : (f32) -> f32
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        memref.store %s, %b[%k] : memref<3xf32>
      }
      %y = arith.addf %x, %v : f32
      scf.yield %y : f32
    }
    gpu.return
  }
}
func.func @f(%a: memref<?xf32>, %b: memref<3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %t = gpu.wait async
  %u = gpu.launch_func async [%t] @m::@k blocks in (%c1, %c1, %c1)
    threads in (%n, %c1, %c1) args(%a: memref<?xf32>, %b: memref<3xf32>)
  gpu.wait [%u]
  return
}"""
    program = gcg.compile(text, target="cuda")
    for n in (96, 50, 5):
        a, b = numbers("f32", n), np.zeros(3, "f4")
        program.f(a, b)
        np.testing.assert_array_equal(b, a.sum() * np.array([1, 2, 3]))


# -- nvvm ------------------------------------------------------------------------------

NVVM = """
    %m = arith.constant -1 : i32
    %last = arith.constant 31 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %warp = nvvm.read.ptx.sreg.warpid : i32
    %j = arith.index_cast %tid : i32 to index
    %v = memref.load %a[%j] : memref<64xi32>
    %x = nvvm.shfl.sync bfly %m, %v, %one, %last : i32 -> i32
    %r = nvvm.redux.sync umax %x, %m : i32 -> i32
    %p = arith.cmpi sgt, %v, %zero : i32
    %bits = nvvm.vote.sync ballot %m, %p -> i32
    %old = nvvm.vote.ballot.sync %m, %p : i32
    %any = nvvm.vote.sync any %m, %p -> i1
    %all = nvvm.vote.sync all %m, %p -> i1
    nvvm.bar.warp.sync %m : i32
    nvvm.barrier0
    %any1 = arith.extui %any : i1 to i32
    %all1 = arith.extui %all : i1 to i32
    %both = arith.subi %bits, %old : i32
    %hundred = arith.constant 100 : i32
    %place = arith.muli %warp, %hundred : i32
    %where = arith.addi %lane, %place : i32
    memref.store %x, %b[%c0, %j] : memref<7x64xi32>
    memref.store %r, %b[%c1, %j] : memref<7x64xi32>
    memref.store %bits, %b[%c2, %j] : memref<7x64xi32>
    memref.store %both, %b[%c3, %j] : memref<7x64xi32>
    memref.store %any1, %b[%c4, %j] : memref<7x64xi32>
    memref.store %all1, %b[%c5, %j] : memref<7x64xi32>
    memref.store %where, %b[%c6, %j] : memref<7x64xi32>"""


def test_instructions_of_nvvm():
    a, b = numbers("i32", 64), np.zeros((7, 64), "i4")
    a[32:] = abs(a[32:]) + 1
    run(launch(NVVM, ["memref<64xi32>", "memref<7x64xi32>"]), a, b)
    parts = a.reshape(2, 32)
    np.testing.assert_array_equal(b[0], a[np.arange(64) ^ 1])
    np.testing.assert_array_equal(b[1].view("u4"), parts.view("u4").max(1).repeat(32))
    bits = np.packbits(a > 0, bitorder="little").view("<i4")
    np.testing.assert_array_equal(b[2], bits.repeat(32))
    np.testing.assert_array_equal(b[3], 0)
    np.testing.assert_array_equal(b[4], (parts > 0).any(1).repeat(32))
    np.testing.assert_array_equal(b[5], (parts > 0).all(1).repeat(32))
    np.testing.assert_array_equal(b[6], lanes((64, 1, 1)) + np.arange(64) // 32 * 100)


# -- shared memory of a size that the launch gives -------------------------------------


def dynamic(size: int, second: int) -> str:
    memory = f"memref<64xf32, {SHARED}>"
    return launch(
        f"""
    %d = gpu.dynamic_shared_memory : memref<?xi8, {SHARED}>
    %v = memref.view %d[%c0][] : memref<?xi8, {SHARED}> to {memory}
    %w = memref.view %d[%c{second}][] : memref<?xi8, {SHARED}> to {memory}
    %x = memref.load %a[%i] : memref<64xf32>
    %y = arith.addf %x, %x : f32
    memref.store %x, %v[%i] : {memory}
    memref.store %y, %w[%i] : {memory}
    gpu.barrier
    %j = arith.subi %c63, %i : index
    %p = memref.load %v[%j] : {memory}
    %q = memref.load %w[%j] : {memory}
    %r = arith.addf %p, %q : f32
    memref.store %r, %a[%i] : memref<64xf32>""",
        ["memref<64xf32>"],
        more="dynamic_shared_memory_size %size",
    ).replace("  gpu.launch", f"  %size = arith.constant {size} : i32\n  gpu.launch")


def test_shared_memory_of_the_launch():
    a = numbers("f32", 64)
    wanted = 3 * a[::-1]
    run(dynamic(512, 256), a)
    np.testing.assert_array_equal(a, wanted)


def test_views_of_it_stay_inside_and_apart():
    with pytest.raises(errors.OutOfBounds, match="bytes 256 to 512 of 500"):
        run(dynamic(500, 256), numbers("f32", 64))
    with pytest.raises(errors.UnsupportedOperation, match="apart"):
        run(dynamic(512, 128), numbers("f32", 64))


# -- what is refused -------------------------------------------------------------------

HALF = "%half = arith.cmpi ult, %tx, %c16 : index"
UNEVEN = "%half = arith.cmpi ult, %tx, %c40 : index"
DATA = "%half = arith.cmpf ogt, %v, %v : f32"
INSIDE = {
    "gpu.shuffle": "%s, %p = gpu.shuffle xor %v, %one, %all : f32",
    "gpu.subgroup_reduce": "%s = gpu.subgroup_reduce add %v : (f32) -> f32",
    "gpu.all_reduce": "%s = gpu.all_reduce add %v {} : (f32) -> f32",
    "gpu.rotate": "%s, %p = gpu.rotate %v, 1, 32 : f32",
    "gpu.subgroup_broadcast": "%s = gpu.subgroup_broadcast %v, first_active_lane : f32",
    "gpu.ballot": "%t = arith.constant true\n%s = gpu.ballot %t : i32",
    "gpu.barrier": "gpu.barrier scope <subgroup>",
    "nvvm.bar.warp.sync": "%m = arith.constant -1 : i32\nnvvm.bar.warp.sync %m : i32",
    "nvvm.shfl.sync": "%m = arith.constant -1 : i32\n"
    "%s = nvvm.shfl.sync idx %m, %v, %one, %one : f32 -> f32",
}


def under(condition: str, operation: str) -> str:
    return launch(
        f"""
    %one = arith.constant 1 : i32
    %all = arith.constant 32 : i32
    %v = memref.load %a[%i] : memref<64xf32>
    {condition}
    scf.if %half {{
      {operation}
    }}""",
        ["memref<64xf32>"],
    )


def proven(text: str) -> None:
    """All passes of a function without running it: the proof is one of them."""
    module = gcg.parse(text)
    types = Function(module.functions["f"]).type.inputs
    run_pipeline(module, all_passes("f", types, "cuda", Options(target="cuda")))


@pytest.mark.slow
@pytest.mark.cases("name", INSIDE)
def test_lanes_that_are_missing_are_named(name: str):
    text = under(HALF, INSIDE[name])
    with pytest.raises(
        errors.ThreadsApart, match=f"reach a {name}.*thread_x=16"
    ) as found:
        proven(text)
    place = found.value.location
    assert place is not None
    assert name in text.splitlines()[place.line - 1]


@pytest.mark.parametrize("condition", [UNEVEN, DATA])
def test_a_condition_on_data_or_across_a_warp_is_refused(condition: str):
    with pytest.raises(errors.ThreadsApart, match=r"gpu\.shuffle"):
        proven(under(condition, INSIDE["gpu.shuffle"]))


def test_whole_warps_may_go_ways_of_their_own():
    one = "%half = arith.cmpi ult, %tx, %c32 : index"
    proven(under(one, INSIDE["gpu.shuffle"]))
    with pytest.raises(errors.ThreadsApart, match=r"threads of a block.*thread_x=32"):
        proven(under(one, INSIDE["gpu.all_reduce"]))


ALIKE = {
    "an argument": "%half = arith.constant true",
    "a cell": "%x = memref.load %a[%c0] : memref<64xf32>\n"
    "%half = arith.cmpf ogt, %x, %x : f32",
    "a reduction": "%x = gpu.all_reduce maximumf %v {} : (f32) -> f32\n"
    "%half = arith.cmpf ogt, %x, %x : f32",
    "the block": "%half = arith.cmpi ne, %bx, %c3 : index",
}


@pytest.mark.slow
@pytest.mark.cases("what", ALIKE)
def test_all_threads_may_decide_alike(what: str):
    proven(under(ALIKE[what], INSIDE["gpu.all_reduce"]))


def test_a_cell_of_the_thread_is_no_decision_of_all():
    own = "%x = memref.load %a[%i] : memref<64xf32>\n"
    condition = own + "%half = arith.cmpf ogt, %x, %x : f32"
    with pytest.raises(errors.ThreadsApart, match="not be reached by all: a condition"):
        proven(under(condition, INSIDE["gpu.all_reduce"]))


ONE = f"memref<1xf32, strided<[1], offset: ?>, {SHARED}>"
OF_THE_THREAD = {
    "a cell of its view": f"""%r = memref.subview %s[%i][1][1] : {{memory}} to {ONE}
    %y = memref.load %r[%c0] : {ONE}
    %half = arith.cmpf ogt, %y, %y : f32""",
    "its part of the buffer": f"""%r = memref.reinterpret_cast %s to
      offset: [%i], sizes: [1], strides: [1] : {{memory}} to {ONE}
    %y = memref.load %r[%c0] : {ONE}
    %half = arith.cmpf ogt, %y, %y : f32""",
    "the extent of its view": """%r = memref.subview %a[0][%i][1]
      : memref<64xf32> to memref<?xf32, strided<[1]>>
    %n = memref.dim %r, %c0 : memref<?xf32, strided<[1]>>
    %half = arith.cmpi ugt, %n, %c16 : index""",
}


@pytest.mark.parametrize("what", OF_THE_THREAD)
def test_a_view_of_the_thread_is_no_decision_of_all(what: str):
    memory = f"memref<64xf32, {SHARED}>"
    text = launch(
        f"""
    %x = memref.load %a[%i] : memref<64xf32>
    memref.store %x, %s[%i] : {memory}
    gpu.barrier
    {OF_THE_THREAD[what].format(memory=memory)}
    scf.if %half {{
      gpu.barrier
    }}""",
        ["memref<64xf32>"],
        more=f"workgroup(%s: {memory})",
    )
    with pytest.raises(errors.ThreadsApart, match=r"not be reached by all|not all thr"):
        proven(text)


def test_a_barrier_that_may_not_be_passed_orders_nothing():
    """The condition is the same for all threads, but nobody knows it."""
    unsure = """%any = gpu.all_reduce maximumf %x {} : (f32) -> f32
    %half = arith.cmpf ogt, %any, %any : f32
    scf.if %half {
      gpu.barrier
    }"""
    with pytest.raises(errors.RaceFound, match="race on s between two threads"):
        proven(reversed_in_warps(unsure))


def reversed_in_warps(between: str, warp: str = "%c32") -> str:
    """Each thread reads what another lane of its warp has written."""
    memory = f"memref<64xf32, {SHARED}>"
    return launch(
        f"""
    %x = memref.load %a[%i] : memref<64xf32>
    memref.store %x, %s[%i] : {memory}
    {between}
    %w = arith.divui %i, {warp} : index
    %l = arith.remui %i, %c32 : index
    %first = arith.muli %w, %c32 : index
    %back = arith.subi %c31, %l : index
    %j = arith.addi %first, %back : index
    %y = memref.load %s[%j] : {memory}
    memref.store %y, %a[%i] : memref<64xf32>""",
        ["memref<64xf32>"],
        (16, 4, 1),
        f"workgroup(%s: {memory})",
    )


ORDERED = [
    "gpu.barrier",
    "gpu.barrier scope <subgroup>",
    "gpu.barrier memfence [#gpu.address_space<workgroup>]",
    "%m = arith.constant -1 : i32\nnvvm.bar.warp.sync %m : i32",
    "nvvm.barrier",
]
UNORDERED = [
    "",
    "gpu.barrier memfence []",
    "gpu.barrier memfence [#gpu.address_space<global>]",
    "%u = gpu.subgroup_reduce add %x : (f32) -> f32",
    "%m = arith.constant 65535 : i32\nnvvm.bar.warp.sync %m : i32",
]


@pytest.mark.slow
@pytest.mark.cases("between", ORDERED)
def test_barriers_that_order_a_warp(between: str):
    proven(reversed_in_warps(between))


@pytest.mark.slow
@pytest.mark.cases("between", UNORDERED)
def test_what_orders_no_memory(between: str):
    with pytest.raises(errors.RaceFound, match="race on s between two threads"):
        proven(reversed_in_warps(between))


def test_a_barrier_of_warps_does_not_order_two_warps():
    """The second warp reads what the first has written."""
    with pytest.raises(errors.RaceFound, match="race on s between two threads"):
        proven(reversed_in_warps("gpu.barrier scope <subgroup>", "%c64"))


@pytest.mark.parametrize("name", ["gpu.shuffle", "gpu.all_reduce", "nvvm.shfl.sync"])
def test_the_cpu_names_the_operation_and_the_targets(name: str):
    text = under("%half = arith.constant true", INSIDE[name])
    with pytest.raises(errors.LaunchNeedsGpu, match=f"at {name}.*'cuda'"):
        run(text, numbers("f32", 64), target="cpu")


WIDE_CLUSTER = """%s = gpu.subgroup_reduce add %v cluster(size = 32, stride = 2)
    : (f32) -> f32"""


@pytest.mark.cases(
    ("operation", "advice"),
    [
        ("%s = gpu.cluster_id x", "without clusters"),
        ('gpu.barrier\ngpu.printf "%f", %v : f32', "memref"),
        ("gpu.barrier scope <cluster>", "plain gpu.barrier"),
        ("nvvm.barrier id = %one number_of_threads = %all", "plain gpu.barrier"),
        (WIDE_CLUSTER, "smaller size"),
    ],
)
def test_what_no_kernel_has_comes_with_advice(operation: str, advice: str):
    text = under("%half = arith.constant true", operation)
    with pytest.raises(errors.UnsupportedOperation, match=advice) as found:
        run(text, numbers("f32", 64))
    assert found.value.location is not None
