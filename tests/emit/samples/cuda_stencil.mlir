// One thread per point, a guard, a private buffer, views, block size from the runtime.
gpu.module @stencil_kernels {
  gpu.func @stencil_k0(%x: memref<?x?xf64, strided<[?, 1], offset: ?>>, %y: memref<?x?xf64>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %third = arith.constant 0.25 : f64
    %m = memref.dim %y, %c0 : memref<?x?xf64>
    %i = gpu.global_id x
    %bx = gpu.block_id y
    %bd = gpu.block_dim y
    %tx = gpu.thread_id y
    %j = affine.apply affine_map<(d0, d1)[s0] -> (d0 * s0 + d1)>(%bx, %tx)[%bd]
    %window = memref.alloca() : memref<3xf64>
    affine.if affine_set<(d0, d1)[s0, s1] : (d0 - 1 >= 0, s0 - d0 - 2 >= 0, d1 - 1 >= 0, s1 - d1 - 2 >= 0)>(%i, %j)[%m, %n] {
      %up = affine.apply affine_map<(d0) -> (d0 - 1)>(%i)
      %left = affine.apply affine_map<(d0) -> (d0 - 1)>(%j)
      %row = memref.subview %x[%up, %left] [3, 3] [1, 1] : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<3x3xf64, strided<[?, 1], offset: ?>>
      affine.for %k = 0 to 3 {
        %a = affine.load %row[%k, 1] : memref<3x3xf64, strided<[?, 1], offset: ?>>
        %b = affine.load %row[1, %k] : memref<3x3xf64, strided<[?, 1], offset: ?>>
        %s = arith.addf %a, %b : f64
        affine.store %s, %window[%k] : memref<3xf64>
      }
      %p = affine.load %window[0] : memref<3xf64>
      %q = affine.load %window[2] : memref<3xf64>
      %t = arith.addf %p, %q : f64
      %u = arith.mulf %t, %third : f64
      memref.store %u, %y[%i, %j] : memref<?x?xf64>
    }
    gpu.return
  }
}
func.func @stencil(%x: memref<?x?xf64, strided<[?, 1], offset: ?>>, %y: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m = memref.dim %y, %c0 : memref<?x?xf64>
  %n = memref.dim %y, %c1 : memref<?x?xf64>
  %gx = arith.ceildivui %m, %c4 : index
  %gy = affine.apply affine_map<()[s0] -> (s0 ceildiv 4)>()[%n]
  gpu.launch_func @stencil_kernels::@stencil_k0 blocks in (%gx, %gy, %c1) threads in (%c4, %c4, %c1) args(%x : memref<?x?xf64, strided<[?, 1], offset: ?>>, %y : memref<?x?xf64>, %n : index)
  return
}
