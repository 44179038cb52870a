"""Programs as somebody writes them who comes from CUDA: kernels, blocks, barriers."""

from __future__ import annotations

SHARED = "#gpu.address_space<workgroup>"

ADD = """
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %g = arith.ceildivui %n, %c256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %g, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %o = arith.muli %bx, %sx : index
    %i = arith.addi %o, %tx : index
    %in = arith.cmpi ult, %i, %n : index
    scf.if %in {
      %x = memref.load %a[%i] : memref<?xf32>
      %y = memref.load %b[%i] : memref<?xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %c[%i] : memref<?xf32>
    }
    gpu.terminator
  }
  return
}"""

ADD_KERNEL = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %n: index)
        kernel {
      %i = gpu.global_id x
      %in = arith.cmpi ult, %i, %n : index
      scf.if %in {
        %x = memref.load %a[%i] : memref<?xf32>
        %y = memref.load %b[%i] : memref<?xf32>
        %z = arith.addf %x, %y : f32
        memref.store %z, %c[%i] : memref<?xf32>
      }
      gpu.return
    }
  }
  func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %g = arith.ceildivui %n, %c256 : index
    gpu.launch_func @kernels::@add blocks in (%g, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %n: index)
    return
  }
}"""

STRIDED = """
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %first = gpu.global_id x
    %step = arith.muli %gx, %sx : index
    scf.for %i = %first to %n step %step {
      %x = memref.load %a[%i] : memref<?xf32>
      %z = arith.addf %x, %x : f32
      memref.store %z, %b[%i] : memref<?xf32>
    }
    gpu.terminator
  }
  return
}"""
"""Each thread takes every 64th element."""

TRANSPOSE = f"""
gpu.module @kernels {{
  gpu.func @transpose(%a: memref<32x48xf32>, %b: memref<48x32xf32>)
      workgroup(%t: memref<16x17xf32, {SHARED}>) kernel {{
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %sx = gpu.block_dim x
    %sy = gpu.block_dim y
    %x0 = arith.muli %bx, %sx : index
    %y0 = arith.muli %by, %sy : index
    %x = arith.addi %x0, %tx : index
    %y = arith.addi %y0, %ty : index
    %v = memref.load %a[%y, %x] : memref<32x48xf32>
    memref.store %v, %t[%ty, %tx] : memref<16x17xf32, {SHARED}>
    gpu.barrier
    %w = memref.load %t[%tx, %ty] : memref<16x17xf32, {SHARED}>
    %p = arith.addi %y0, %tx : index
    %q = arith.addi %x0, %ty : index
    memref.store %w, %b[%q, %p] : memref<48x32xf32>
    gpu.return
  }}
}}
func.func @f(%a: memref<32x48xf32>, %b: memref<48x32xf32>) {{
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  gpu.launch_func @kernels::@transpose
    blocks in (%c3, %c2, %c1) threads in (%c16, %c16, %c1)
    args(%a: memref<32x48xf32>, %b: memref<48x32xf32>)
  return
}}"""

_TILE = f"memref<8x8xf32, {SHARED}>"
MATMUL = f"""
gpu.module @kernels {{
  gpu.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>)
      workgroup(%as: {_TILE}, %bs: {_TILE}) kernel
      attributes {{known_block_size = array<i32: 8, 8, 1>}} {{
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %col = gpu.global_id x
    %row = gpu.global_id y
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %k = memref.dim %a, %c1 : memref<?x?xf32>
    %sum = scf.for %kk = %c0 to %k step %c8 iter_args(%acc = %zero) -> (f32) {{
      %ka = arith.addi %kk, %tx : index
      %kb = arith.addi %kk, %ty : index
      %x = memref.load %a[%row, %ka] : memref<?x?xf32>
      memref.store %x, %as[%ty, %tx] : {_TILE}
      %y = memref.load %b[%kb, %col] : memref<?x?xf32>
      memref.store %y, %bs[%ty, %tx] : {_TILE}
      gpu.barrier
      %part = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %acc) -> (f32) {{
        %u = memref.load %as[%ty, %i] : {_TILE}
        %v = memref.load %bs[%i, %tx] : {_TILE}
        %w = arith.mulf %u, %v : f32
        %s = arith.addf %p, %w : f32
        scf.yield %s : f32
      }}
      gpu.barrier
      scf.yield %part : f32
    }}
    memref.store %sum, %c[%row, %col] : memref<?x?xf32>
    gpu.return
  }}
}}
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %c, %c0 : memref<?x?xf32>
  %n = memref.dim %c, %c1 : memref<?x?xf32>
  %gx = arith.divui %n, %c8 : index
  %gy = arith.divui %m, %c8 : index
  gpu.launch_func @kernels::@matmul
    blocks in (%gx, %gy, %c1) threads in (%c8, %c8, %c1)
    args(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>)
  return
}}"""


def block_sums(threads: int = 64) -> str:
    """Each block adds up its part: half of the threads, a quarter, ..."""
    buffer = f"memref<{threads}xf32, {SHARED}>"
    halves = [threads >> n for n in range(1, threads.bit_length())]
    steps = "\n".join(
        f"""    // {half}
    %h{half} = arith.constant {half} : index
    %in{half} = arith.cmpi ult, %tx, %h{half} : index
    scf.if %in{half} {{
      %o = arith.addi %tx, %h{half} : index
      %u = memref.load %sh[%tx] : {buffer}
      %v = memref.load %sh[%o] : {buffer}
      %w = arith.addf %u, %v : f32
      memref.store %w, %sh[%tx] : {buffer}
    }}
    gpu.barrier"""
        for half in halves
    )
    return f"""
func.func @f(%a: memref<{4 * threads}xf32>, %out: memref<4xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = arith.constant {threads} : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1)
             workgroup(%sh: {buffer}) {{
    %i = gpu.global_id x
    %x = memref.load %a[%i] : memref<{4 * threads}xf32>
    memref.store %x, %sh[%tx] : {buffer}
    gpu.barrier
{steps}
    %first = arith.cmpi eq, %tx, %c0 : index
    scf.if %first {{
      %s = memref.load %sh[%c0] : {buffer}
      memref.store %s, %out[%bx] : memref<4xf32>
    }}
    gpu.terminator
  }}
  return
}}"""


HISTOGRAM = f"""
func.func @f(%a: memref<512xi32>, %h: memref<16xi32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1)
             workgroup(%own: memref<16xi32, {SHARED}>) {{
    %counts = arith.cmpi ult, %tx, %c16 : index
    scf.if %counts {{
      memref.store %zero, %own[%tx] : memref<16xi32, {SHARED}>
    }}
    gpu.barrier
    %i = gpu.global_id x
    %v = memref.load %a[%i] : memref<512xi32>
    %k = arith.index_cast %v : i32 to index
    %r = memref.atomic_rmw addi %one, %own[%k]
      : (i32, memref<16xi32, {SHARED}>) -> i32
    gpu.barrier
    scf.if %counts {{
      %n = memref.load %own[%tx] : memref<16xi32, {SHARED}>
      %s = memref.atomic_rmw addi %n, %h[%tx] : (i32, memref<16xi32>) -> i32
    }}
    gpu.terminator
  }}
  return
}}"""
"""Blocks count for themselves, then together."""

ON_THE_DEVICE = """
gpu.module @m {
  gpu.func @scale(%d: memref<64xf32>, %s: f32)
      private(%t: memref<2xf32, #gpu.address_space<private>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>,
                  known_grid_size = array<i32: 1, 1, 1>} {
    %i = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %x = memref.load %d[%i] : memref<64xf32>
    memref.store %x, %t[%c1] : memref<2xf32, #gpu.address_space<private>>
    %y = memref.load %t[%c1] : memref<2xf32, #gpu.address_space<private>>
    %z = arith.mulf %y, %s : f32
    memref.store %z, %d[%i] : memref<64xf32>
    gpu.return
  }
}
func.func @f(%a: memref<64xf32>, %b: memref<64xf32>, %s: f32) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t0 = gpu.wait async
  %d, %t1 = gpu.alloc async [%t0] () : memref<64xf32>
  %t2 = gpu.memcpy async [%t1] %d, %a : memref<64xf32>, memref<64xf32>
  %t3 = gpu.launch_func async [%t2] @m::@scale
    blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
    args(%d: memref<64xf32>, %s: f32)
  %t4 = gpu.launch_func async [%t3] @m::@scale
    blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
    args(%d: memref<64xf32>, %s: f32)
  %t5 = gpu.memcpy async [%t4] %b, %d : memref<64xf32>, memref<64xf32>
  %t6 = gpu.dealloc async [%t5] %d : memref<64xf32>
  gpu.wait [%t6]
  return
}"""

FILLED = """
func.func @f(%b: memref<?x8xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %b, %c0 : memref<?x8xf32>
  %d = gpu.alloc (%n) : memref<?x8xf32>
  %t = gpu.memset async %d, %s : memref<?x8xf32>, f32
  gpu.wait [%t]
  gpu.memcpy %b, %d : memref<?x8xf32>, memref<?x8xf32>
  gpu.dealloc %d : memref<?x8xf32>
  return
}"""

STEPS = """
func.func @f(%a: memref<34xf32>, %b: memref<34xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  scf.for %t = %c0 to %c4 step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
      %i = arith.addi %tx, %c1 : index
      %j = arith.addi %i, %c1 : index
      %x = memref.load %a[%tx] : memref<34xf32>
      %y = memref.load %a[%j] : memref<34xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %b[%i] : memref<34xf32>
      gpu.terminator
    }
    memref.copy %b, %a : memref<34xf32> to memref<34xf32>
  }
  return
}"""
"""A stencil over and over: launches in a loop of the host."""


ASYNC_COPIES = """gpu.module @m {
  gpu.func @k(%a: memref<64x4xf32>, %b: memref<64x4xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %s = memref.alloca() : memref<2x64x4xf32, #gpu.address_space<workgroup>>
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %x = nvgpu.device_async_copy %a[%t, %c0], %s[%c0, %t, %c0], 4
        : memref<64x4xf32> to memref<2x64x4xf32, #gpu.address_space<workgroup>>
    %g = nvgpu.device_async_create_group %x
    %y = nvgpu.device_async_copy %a[%t, %c0], %s[%c1, %t, %c0], 4, %c2
        : memref<64x4xf32> to memref<2x64x4xf32, #gpu.address_space<workgroup>>
    %h = nvgpu.device_async_create_group %y
    nvgpu.device_async_wait %g numGroups = 1
    gpu.barrier
    affine.for %i = 0 to 4 {
      %v = affine.load %s[0, 63 - %t, %i]
          : memref<2x64x4xf32, #gpu.address_space<workgroup>>
      affine.store %v, %b[%t, %i] : memref<64x4xf32>
    }
    nvgpu.device_async_wait %h numGroups = 0
    affine.for %i = 0 to 4 {
      %v = affine.load %s[1, %t, %i]
          : memref<2x64x4xf32, #gpu.address_space<workgroup>>
      %w = affine.load %b[%t, %i] : memref<64x4xf32>
      %sum = arith.addf %v, %w : f32
      affine.store %sum, %b[%t, %i] : memref<64x4xf32>
    }
    gpu.return
  }
}
func.func @f(%a: memref<64x4xf32>, %b: memref<64x4xf32>) {
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%n, %one, %one)
      args(%a : memref<64x4xf32>, %b : memref<64x4xf32>)
  return
}"""
"""Two groups of copies; the second one has two elements a thread, and zeros."""
