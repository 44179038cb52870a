"""Programs whose kernels are of one kind each, and what must not be taken from these.

`KINDS` is the table: what orders the threads of each kernel, counted.  Without one of
these a kernel races.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gpucodegen as gcg
from examples.polybench.catalogue import KERNELS
from tests.attention.test_fused_attention import text as attention
from tests.passes.lowering import apply
from tests.passes.stencil_texts import STENCILS
from tests.programs.test_gpu_reductions import LAYERNORM, argmax, reduction, softmax
from tests.programs.test_gpu_scans import scan_text


@dataclass(frozen=True)
class Kind:
    """A program with kernels of a kind.

    ``counts``: how many of each operation of `EDITS` its kernels have, and of stages.
    ``mapping``: how the mapper is made, such as the team that walks steps.
    """

    text: str
    arguments: Callable[[], Sequence[Any]]
    counts: Mapping[str, int]
    entry: str = "f"
    mapping: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def compiled(self) -> Callable[..., Any]:
        """The function of the program, on the emulated device."""
        program = gcg.compile(self.text, target="sim", **self.options)
        return program[self.entry]


def arrays(
    *shapes: tuple[int, ...], last: str = "", kind: str = "f4"
) -> Callable[[], list[Any]]:
    """Small integers, so that no order of sums rounds."""

    def made() -> list[Any]:
        rng = np.random.default_rng(0)
        *first, end = (np.array(rng.integers(-4, 5, shape)) for shape in shapes)
        return [*(a.astype(kind) for a in first), end.astype(last or kind)]

    return made


def halves(*shapes: tuple[int, int]) -> Callable[[], list[Any]]:
    """As `arrays`, an array of f16, and one of f32."""

    def made() -> list[Any]:
        first, last = arrays(*shapes)()
        return [first.astype("f2"), last]

    return made


def integers(*shape: int) -> Callable[[], list[Any]]:
    """An array of 32-bit integers, and one of zeros."""
    return lambda: [np.ones(shape, "i4"), np.zeros(shape, "i4")]


def matmul(m: int, n: int, k: int) -> str:
    a, b, c = (f"memref<{s}xf32>" for s in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"))
    return f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
  linalg.matmul ins(%a, %b : {a}, {b}) outs(%c : {c})
  return
}}"""


def product_of_rows(m: int, n: int, k: int) -> str:
    """``c += a b^T``: both factors lie along the terms, so they are turned."""
    a, b, c = (f"memref<{s}xf32>" for s in (f"{m}x{k}", f"{n}x{k}", f"{m}x{n}"))
    return f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
  linalg.matmul_transpose_b ins(%a, %b : {a}, {b}) outs(%c : {c})
  return
}}"""


def transposed_product(m: int, n: int, k: int) -> str:
    """``c += a^T b``: both factors lie along the rows and columns of c."""
    a, b, c = (f"memref<{s}xf32>" for s in (f"{k}x{m}", f"{k}x{n}", f"{m}x{n}"))
    return f"""func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
  affine.for %i = 0 to {m} {{ affine.for %j = 0 to {n} {{ affine.for %k = 0 to {k} {{
    %x = affine.load %a[%k, %i] : {a}
    %y = affine.load %b[%k, %j] : {b}
    %z = affine.load %c[%i, %j] : {c}
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    affine.store %s, %c[%i, %j] : {c}
  }} }} }}
  return
}}"""


def layernorm(length: int) -> str:
    text = LAYERNORM.replace("xLx", f"x{length}x").replace("L.0", f"{length}.0")
    text = text.replace("<Lx", f"<{length}x").replace("to L", f"to {length}")
    return text.replace("%OUT", "%y")


TRANSPOSE = """func.func @f(%a: memref<40x72xf32>, %b: memref<72x40xf32>) {
  linalg.transpose ins(%a : memref<40x72xf32>) outs(%b : memref<72x40xf32>)
    permutation = [1, 0]
  return
}"""
COPY = """func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>) {
  linalg.copy ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32>)
  return
}"""
COUNTS = """func.func @f(%keys: memref<3000xi32>, %counts: memref<9xi32>) {
  %one = arith.constant 1 : i32
  affine.for %i = 0 to 3000 {
    %key = affine.load %keys[%i] : memref<3000xi32>
    %at = arith.index_cast %key : i32 to index
    %now = memref.load %counts[%at] : memref<9xi32>
    %next = arith.addi %now, %one : i32
    memref.store %next, %counts[%at] : memref<9xi32>
  }
  return
}"""
REPEATED = """
gpu.module @m {
  gpu.func @k(%a: memref<64xf32>, %b: memref<3xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %v = affine.load %a[%t] : memref<64xf32>
    affine.for %k = 0 to 3 iter_args(%x = %v) -> (f32) {
      %s = gpu.all_reduce add %x {} : (f32) -> f32
      affine.if affine_set<(d0) : (-d0 >= 0)>(%t) {
        affine.store %s, %b[%k] : memref<3xf32>
      }
      %y = arith.addf %x, %v : f32
      affine.yield %y : f32
    }
    gpu.return
  }
}
func.func @f(%a: memref<64xf32>, %b: memref<3xf32>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch_func @m::@k blocks in (%c1, %c1, %c1)
    threads in (%c64, %c1, %c1) args(%a : memref<64xf32>, %b : memref<3xf32>)
  return
}"""
TRANSFERS = """func.func @f(%x: memref<28xf32>, %y: memref<4xf32>) {
  %n = arith.constant 4 : index
  affine.for %k = 0 to 28 step 4 {
    %tile = memref.alloc() : memref<4xf32, 2>
    %tag = memref.alloc() : memref<1xi32>
    affine.dma_start %x[%k], %tile[0], %tag[0], %n
        : memref<28xf32>, memref<4xf32, 2>, memref<1xi32>
    affine.dma_wait %tag[0], %n : memref<1xi32>
    affine.for %i = 0 to 4 {
      %v = affine.load %tile[%i] : memref<4xf32, 2>
      %o = affine.load %y[%i] : memref<4xf32>
      %s = arith.addf %v, %o : f32
      affine.store %s, %y[%i] : memref<4xf32>
    }
  }
  return
}"""
GRAM = """func.func @f(%x: memref<64x96xf16>, %y: memref<64x32xf32>) {
  %z = arith.constant 0 : index
  %n = arith.constant 1024 : index
  %row = arith.constant 96 : index
  %run = arith.constant 32 : index
  affine.for %i = 0 to 64 step 32 {
    %tile = memref.alloc() : memref<2x32x32xf16, 2>
    %tag = memref.alloc() : memref<2xi32>
    affine.dma_start %x[%i, 0], %tile[0, 0, 0], %tag[0], %n, %row, %run
        : memref<64x96xf16>, memref<2x32x32xf16, 2>, memref<2xi32>
    affine.for %k = 0 to 96 step 32 {
      affine.dma_wait %tag[(%k floordiv 32) mod 2], %n : memref<2xi32>
      affine.if affine_set<(d0) : (63 - d0 >= 0)>(%k) {
        affine.dma_start %x[%i, %k + 32], %tile[(%k floordiv 32 + 1) mod 2, 0, 0],
            %tag[(%k floordiv 32 + 1) mod 2], %n, %row, %run
            : memref<64x96xf16>, memref<2x32x32xf16, 2>, memref<2xi32>
      }
      affine.for %r = 0 to 32 { affine.for %c = 0 to 32 { affine.for %t = 0 to 32 {
        %a = affine.load %tile[(%k floordiv 32) mod 2, %r, %t] : memref<2x32x32xf16, 2>
        %b = affine.load %tile[(%k floordiv 32) mod 2, %c, %t] : memref<2x32x32xf16, 2>
        %o = affine.load %y[%i + %r, %c] : memref<64x32xf32>
        %p = arith.extf %a : f16 to f32
        %q = arith.extf %b : f16 to f32
        %v = arith.mulf %p, %q : f32
        %s = arith.addf %o, %v : f32
        affine.store %s, %y[%i + %r, %c] : memref<64x32xf32>
      } } }
    }
  }
  return
}"""
"""Rows by rows of one tile, which each transfer brings to the other of two slots."""
LU = KERNELS["lu"]
LINE = STENCILS["jacobi_1d"]


def factors() -> list[Any]:
    n = 20
    return [np.random.default_rng(0).random((n, n)) + 4 * np.eye(n)]


def keys() -> list[Any]:
    chosen = np.random.default_rng(0).integers(0, 9, 3000)
    return [chosen.astype("i4"), np.zeros(9, "i4")]


def line() -> list[Any]:
    rng = np.random.default_rng(0)
    return [4, *(rng.random(300, np.float32) for _ in "AB")]


BARRIER, GRID, SHUFFLE = "gpu.barrier", "gcg.grid_barrier", "gpu.shuffle"
COMMIT, WAIT = "nvgpu.device_async_create_group", "nvgpu.device_async_wait"
TRANSFER = "memref.dma_wait"
STAGE = "stage"
KINDS = {
    "columns": Kind(
        reduction((500, 70), (0,), "addf f32"), arrays((500, 70), (70,)), {BARRIER: 1}
    ),
    "rows": Kind(
        reduction((70, 1000), (1,), "addf f32"),
        arrays((70, 1000), (70,)),
        {BARRIER: 1, SHUFFLE: 5},
    ),
    "rows of warps": Kind(
        reduction((150, 37), (1,), "addf f32"),
        arrays((150, 37), (150,)),
        {BARRIER: 1, SHUFFLE: 5},
    ),
    "full sum": Kind(
        reduction((300, 1024), (0, 1), "addf f32"),
        arrays((300, 1024), ()),
        {BARRIER: 2, SHUFFLE: 10},
    ),
    "softmax in a warp": Kind(
        softmax(150, 37),
        arrays(*[(150, 37)] * 2),
        {SHUFFLE: 10},
    ),
    "softmax in a block": Kind(
        softmax(140, 1500),
        arrays(*[(140, 1500)] * 2),
        {BARRIER: 2, SHUFFLE: 10},
    ),
    "layernorm": Kind(
        layernorm(333),
        arrays((140, 333), (333,), (140, 333)),
        {BARRIER: 2, SHUFFLE: 10},
        options={"reassociate": True},
    ),
    "argmax": Kind(
        argmax(9, 1000, "ogt"),
        arrays((9, 1000), (9,), (9,), last="i4"),
        {BARRIER: 2, SHUFFLE: 10},
    ),
    "scan in a warp": Kind(
        scan_text((150, 37), 1, "addi i32", "0"), integers(150, 37), {SHUFFLE: 7}
    ),
    "scan in a block": Kind(
        scan_text((3, 5000), 1, "addi i32", "0"),
        integers(3, 5000),
        {BARRIER: 2, SHUFFLE: 14},
    ),
    "tree in a loop": Kind(REPEATED, arrays((64,), (3,)), {BARRIER: 2, SHUFFLE: 5}),
    "product": Kind(
        matmul(64, 64, 80),
        arrays((64, 80), (80, 64), (64, 64)),
        {BARRIER: 2, STAGE: 2, COMMIT: 1, WAIT: 1},
        options={"plan": {"product.direct": 3}},
    ),
    "product through registers": Kind(
        product_of_rows(63, 63, 79),
        arrays((63, 79), (63, 79), (63, 63)),
        {BARRIER: 2, STAGE: 2},
        options={"plan": {"product.direct": 1}},
    ),
    **{
        f"product in {stages} stages": Kind(
            transposed_product(64, 64, 80),
            arrays((80, 64), (80, 64), (64, 64)),
            {BARRIER: 2, STAGE: stages, COMMIT: stages - 1, WAIT: 1},
            mapping={"tile": (32, 32, 16, 2, 4), "stages": stages},
        )
        for stages in (2, 3, 4)
    },
    **{
        f"transfers in {stages} stages": Kind(
            str(apply(f"overlap-transfers{{stages={stages}}}", TRANSFERS)),
            arrays((28,), (4,)),
            {TRANSFER: 2},
        )
        for stages in (2, 3, 4)
    },
    "product of fragments": Kind(
        matmul(32, 32, 96).replace("xf32", "xf16"),
        arrays((32, 96), (96, 32), (32, 32), kind="f2"),
        {BARRIER: 8, STAGE: 3, COMMIT: 5, WAIT: 4},
        mapping={"tile": (32, 32, 16, 16, 16), "stages": 3, "fragments": True},
    ),
    "transfers and fragments": Kind(
        GRAM,
        halves((64, 96), (64, 32)),
        {BARRIER: 3, TRANSFER: 1},
        options={"reassociate": True},
    ),
    "transfers and quads": Kind(GRAM, halves((64, 96), (64, 32)), {TRANSFER: 1}),
    "split product": Kind(
        matmul(16, 64, 512),
        arrays((16, 512), (512, 64), (16, 64)),
        {BARRIER: 2, STAGE: 2, COMMIT: 1, WAIT: 1},
        options={"plan": {"product.direct": 3}},
    ),
    "attention": Kind(
        attention().replace("90", "150"),
        arrays((2, 70, 32), (2, 150, 32), (2, 150, 32), kind="f2"),
        {BARRIER: 4, COMMIT: 5, WAIT: 5, SHUFFLE: 8},
    ),
    "transpose": Kind(TRANSPOSE, arrays((40, 72), (72, 40)), {BARRIER: 1}),
    "cells of blocks": Kind(
        COUNTS, keys, {BARRIER: 2}, options={"plan": {"scatter.owns": 2}}
    ),
    "stream": Kind(COPY, arrays((64, 64), (64, 64)), {}),
    "time tiles": Kind(LINE.mlir("f32"), line, {BARRIER: 3}, entry=LINE.name),
    "steps of a block": Kind(
        LU.text, factors, {BARRIER: 2}, entry=LU.entry, mapping={"team": (1, 64)}
    ),
    "steps of the grid": Kind(
        LU.text, factors, {GRID: 2}, entry=LU.entry, mapping={"team": (3, 32)}
    ),
}
