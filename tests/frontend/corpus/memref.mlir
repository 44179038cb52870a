memref.global "private" constant @table : memref<2x2xf32> = dense<[[1.0, 2.0], [3.0, 4.0]]> {alignment = 64 : i64}
memref.global @buffer : memref<4xf32>
memref.global "private" @empty : memref<4xf32> = uninitialized
func.func @allocation(%n: index, %v: f32) -> memref<?x4xf32> {
  %0 = memref.alloc() : memref<16x4xf32>
  %1 = memref.alloc(%n) {alignment = 64 : i64} : memref<?x4xf32>
  %2 = memref.alloca() : memref<16xf32, #gpu.address_space<workgroup>>
  %3 = memref.alloc(%n)[%n] : memref<?xf32, affine_map<(d0)[s0] -> (d0 + s0)>>
  %c0 = arith.constant 0 : index
  %4 = memref.load %1[%c0, %n] : memref<?x4xf32>
  memref.store %4, %1[%n, %c0] : memref<?x4xf32>
  memref.store %v, %0[%n, %c0] {nontemporal = true} : memref<16x4xf32>
  %5 = memref.dim %1, %c0 : memref<?x4xf32>
  %6 = memref.cast %0 : memref<16x4xf32> to memref<?x4xf32>
  %7 = memref.cast %0 : memref<16x4xf32> to memref<*xf32>
  %r = memref.rank %7 : memref<*xf32>
  memref.copy %0, %6 : memref<16x4xf32> to memref<?x4xf32>
  %8 = memref.get_global @table : memref<2x2xf32>
  %9 = memref.subview %1[%n, 0] [4, 2] [1, %n] : memref<?x4xf32> to memref<4x2xf32, strided<[4, ?], offset: ?>>
  %10 = memref.reinterpret_cast %0 to offset: [0], sizes: [8, %n], strides: [%n, 1] : memref<16x4xf32> to memref<8x?xf32, strided<[?, 1]>>
  %11 = memref.collapse_shape %0 [[0, 1]] : memref<16x4xf32> into memref<64xf32>
  %12 = memref.expand_shape %11 [[0, 1]] output_shape [16, 4] : memref<64xf32> into memref<16x4xf32>
  %13 = memref.transpose %0 (d0, d1) -> (d1, d0) : memref<16x4xf32> to memref<4x16xf32, strided<[1, 4]>>
  %14 = memref.atomic_rmw addf %v, %0[%n, %c0] : (f32, memref<16x4xf32>) -> f32
  %15 = memref.generic_atomic_rmw %0[%n, %c0] : memref<16x4xf32> {
  ^bb0(%old: f32):
    %16 = arith.addf %old, %v : f32
    memref.atomic_yield %16 : f32
  }
  memref.prefetch %0[%n, %c0], write, locality<1>, data : memref<16x4xf32>
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %0[%c0, %c0], %6[%c0, %c0], %n, %tag[%c0] : memref<16x4xf32>, memref<?x4xf32>, memref<1xi32>
  memref.dma_start %0[%c0, %c0], %6[%c0, %c0], %n, %tag[%c0], %n, %n : memref<16x4xf32>, memref<?x4xf32>, memref<1xi32>
  memref.dma_wait %tag[%c0], %n : memref<1xi32>
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %1 : memref<?x4xf32> -> memref<f32>, index, index, index, index, index
  memref.dealloc %0 : memref<16x4xf32>
  return %1 : memref<?x4xf32>
}
func.func @layouts(%a: memref<4x4xf32, strided<[4, 1], offset: 3>>, %b: memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>, 3>,
                   %c: memref<?xf32, strided<[?], offset: ?>, "fast">, %d: memref<f32>, %e: memref<2xvector<4xf32>>,
                   %f: memref<2xmemref<4xf32>>, %g: memref<*xi8, 1>, %h: memref<0x4xf32>, %i: memref<4xf32, 0>) {
  return
}
