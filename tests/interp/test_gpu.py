"""Kernels in the interpreter: threads that meet, shared memory, exchanged values."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors


def launched(body: str, *, n: int = 64, buffers: str = "") -> str:
    return f"""
    func.func @f(%a: memref<?xi32>, %o: memref<?xi32>) {{
      %c1 = arith.constant 1 : index
      %n = arith.constant {n} : index
      %g = arith.constant 2 : index
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %g, %gy = %c1, %gz = %c1)
          threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {buffers} {{
        %base = arith.muli %bx, %sx : index
        %i = arith.addi %base, %tx : index
        %v = memref.load %a[%i] : memref<?xi32>
        {body}
        memref.store %r, %o[%i] : memref<?xi32>
        gpu.terminator
      }}
      return
    }}"""


A = np.arange(128, dtype="i4") * 3 % 17
BLOCKS = A.reshape(2, 64)
LANES = A.reshape(-1, 32)

KERNELS = {
    "shared memory": (
        """memref.store %v, %s[%tx] : memref<64xi32, #gpu.address_space<workgroup>>
        gpu.barrier
        %last = arith.constant 63 : index
        %j = arith.subi %last, %tx : index
        %r = memref.load %s[%j] : memref<64xi32, #gpu.address_space<workgroup>>""",
        "workgroup(%s : memref<64xi32, #gpu.address_space<workgroup>>)",
        BLOCKS[:, ::-1],
    ),
    "all_reduce": (
        "%r = gpu.all_reduce add %v {} : (i32) -> (i32)",
        "",
        np.repeat(BLOCKS.sum(1), 64),
    ),
    "subgroup_reduce": (
        "%r = gpu.subgroup_reduce maxsi %v : (i32) -> (i32)",
        "",
        np.repeat(LANES.max(1), 32),
    ),
    "clusters of lanes": (
        "%r = gpu.subgroup_reduce add %v cluster(size = 4) : (i32) -> (i32)",
        "",
        np.repeat(A.reshape(-1, 4).sum(1), 4),
    ),
    "shuffle": (
        """%by1 = arith.constant 1 : i32
        %w = arith.constant 32 : i32
        %r, %ok = gpu.shuffle xor %v, %by1, %w : i32""",
        "",
        A.reshape(-1, 2)[:, ::-1],
    ),
    "shuffle down": (
        """%by3 = arith.constant 3 : i32
        %w = arith.constant 32 : i32
        %t, %ok = gpu.shuffle down %v, %by3, %w : i32
        %none = arith.constant -1 : i32
        %r = arith.select %ok, %t, %none : i32""",
        "",
        np.concatenate([LANES[:, 3:], np.full((4, 3), -1)], 1),
    ),
    "shuffle of few lanes": (
        """%by1 = arith.constant 1 : i32
        %w = arith.constant 4 : i32
        %t, %ok = gpu.shuffle down %v, %by1, %w : i32
        %none = arith.constant -1 : i32
        %r = arith.select %ok, %t, %none : i32""",
        "",
        np.concatenate([LANES[:, 1:4], np.full((4, 29), -1)], 1),
    ),
    "some warps alone": (
        """%lane = gpu.lane_id
        %id = gpu.subgroup_id : index
        %zero = arith.constant 0 : index
        %first = arith.cmpi eq, %id, %zero : index
        %r = scf.if %first -> i32 {
          %s = gpu.subgroup_reduce add %v : (i32) -> (i32)
          scf.yield %s : i32
        } else {
          scf.yield %v : i32
        }""",
        "",
        np.where(np.arange(4)[:, None] % 2 == 0, LANES.sum(1)[:, None], LANES),
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.cases("name", KERNELS, parts=3)
def test_kernels(name: str):
    body, buffers, want = KERNELS[name]
    out = np.zeros(128, "i4")
    text = launched(body, buffers=buffers)
    gcg.compile(text, target="interp").f(A.copy(), out)
    np.testing.assert_array_equal(out, want.ravel())


def test_a_barrier_that_not_all_reach_is_an_error():
    body = """
    %zero = arith.constant 0 : index
    %first = arith.cmpi eq, %tx, %zero : index
    scf.if %first {
      gpu.barrier
    }
    %r = arith.addi %v, %v : i32"""
    with pytest.raises(errors.BarrierMissed, match="1 of 64") as caught:
        gcg.compile(launched(body), target="interp").f(A.copy(), np.zeros(128, "i4"))
    assert caught.value.place is not None


def test_an_error_of_one_thread_ends_all():
    body = """
    gpu.barrier
    %c99 = arith.constant 99 : index
    %j = arith.addi %i, %c99 : index
    %r = memref.load %a[%j] : memref<?xi32>"""
    with pytest.raises(errors.IndexOutOfBounds, match=r"memref\.load"):
        gcg.compile(launched(body), target="interp").f(A.copy(), np.zeros(128, "i4"))


def test_kernels_of_modules():
    text = """
    gpu.module @kernels {
      gpu.func @add(%a: memref<?xf32>, %x: f32) kernel {
        %b = gpu.block_id x
        %d = gpu.block_dim x
        %t = gpu.thread_id x
        %o = arith.muli %b, %d : index
        %i = arith.addi %o, %t : index
        %v = memref.load %a[%i] : memref<?xf32>
        %w = arith.addf %v, %x : f32
        memref.store %w, %a[%i] : memref<?xf32>
        gpu.return
      }
    }
    func.func @f(%a: memref<?xf32>, %x: f32) {
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      gpu.launch_func @kernels::@add blocks in (%c3, %c1, %c1)
        threads in (%c4, %c1, %c1) args(%a : memref<?xf32>, %x : f32)
      return
    }"""
    a = np.arange(12, dtype="f4")
    gcg.compile(text, target="interp").f(a, 0.5)
    np.testing.assert_array_equal(a, np.arange(12) + 0.5)
