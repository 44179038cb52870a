// Every operation of memref, as MLIR writes it late in 2026.
func.func @operations(
    %n: index, %m: memref<?x?xf32>, %s: memref<8x16xf32>, %f: f32, %a0: memref<64xf32>, %x: memref<1x1xf32>,
    %shp: memref<2xindex>, %b: memref<2048xi8>, %t: memref<1xi32>, %u: memref<*xf32>,
    %sub: memref<?x4xf32, strided<[?, 1], offset: ?>>) {
  %0 = memref.alloc() : memref<4xf32>
  %1 = memref.alloc(%n, %n) alignment = 64 : memref<?x?xf32, 1>
  %2 = memref.alloc(%n)[%n] : memref<8x?xf32, affine_map<(d0, d1)[s0] -> (d0 + s0, d1)>>
  %3 = memref.alloca(%n) : memref<?xf32>
  %4 = memref.realloc %a0(%n) : memref<64xf32> to memref<?xf32>
  memref.dealloc %0 : memref<4xf32>
  %r = memref.alloca_scope -> (f32) { memref.alloca_scope.return %f : f32 }
  memref.alloca_scope { memref.alloca_scope.return }
  %5 = memref.load %m[%n, %n] : memref<?x?xf32>
  %6 = memref.load %m[%n, %n] nontemporal(true) : memref<?x?xf32>
  memref.store %5, %m[%n, %n] : memref<?x?xf32>
  %7 = memref.cast %m : memref<?x?xf32> to memref<4x?xf32>
  %8 = memref.cast %m : memref<?x?xf32> to memref<*xf32>
  memref.copy %m, %m : memref<?x?xf32> to memref<?x?xf32>
  %9 = memref.dim %m, %n : memref<?x?xf32>
  %10 = memref.rank %u : memref<*xf32>
  %11 = memref.subview %m[%n, 0] [%n, 4] [1, 1] : memref<?x?xf32> to memref<?x4xf32, strided<[?, 1], offset: ?>>
  %12 = memref.subview %s[2, 4] [4, 4] [1, 2] : memref<8x16xf32> to memref<4x4xf32, strided<[16, 2], offset: 36>>
  %13 = memref.subview %s[0, 4] [1, 4] [1, 1] : memref<8x16xf32> to memref<4xf32, strided<[1], offset: 4>>
  %14 = memref.reinterpret_cast %u to offset: [%n], sizes: [%n, 10], strides: [%n, 1] : memref<*xf32> to memref<?x10xf32, strided<[?, 1], offset: ?>>
  %15 = memref.expand_shape %s [[0, 1], [2, 3]] output_shape [2, 4, 4, 4] : memref<8x16xf32> into memref<2x4x4x4xf32>
  %16 = memref.expand_shape %m [[0, 1], [2]] output_shape [%n, 4, %n] : memref<?x?xf32> into memref<?x4x?xf32>
  %17 = memref.collapse_shape %s [[0, 1]] : memref<8x16xf32> into memref<128xf32>
  %18 = memref.collapse_shape %x [] : memref<1x1xf32> into memref<f32>
  %19 = memref.reshape %u(%shp) : (memref<*xf32>, memref<2xindex>) -> memref<?x?xf32>
  %20 = memref.view %b[%n][%n] : memref<2048xi8> to memref<?x4xf32>
  %21 = memref.transpose %m (i, j) -> (j, i) : memref<?x?xf32> to memref<?x?xf32, strided<[1, ?]>>
  %22 = memref.assume_alignment %m, 16 : memref<?x?xf32>
  %23, %24, %25:2, %26:2 = memref.extract_strided_metadata %m : memref<?x?xf32> -> memref<f32>, index, index, index, index, index
  %27 = memref.extract_aligned_pointer_as_index %m : memref<?x?xf32> -> index
  %28 = memref.get_global @g : memref<2xf32>
  %29 = memref.atomic_rmw addf %f, %m[%n, %n] : (f32, memref<?x?xf32>) -> f32
  %30 = memref.generic_atomic_rmw %m[%n, %n] : memref<?x?xf32> {
  ^bb0(%now: f32):
    memref.atomic_yield %now : f32
  }
  memref.prefetch %m[%n, %n], read, locality<3>, data : memref<?x?xf32>
  memref.dma_start %m[%n, %n], %s[%n, %n], %n, %t[%n] : memref<?x?xf32>, memref<8x16xf32>, memref<1xi32>
  memref.dma_start %m[%n, %n], %s[%n, %n], %n, %t[%n], %n, %n : memref<?x?xf32>, memref<8x16xf32>, memref<1xi32>
  memref.dma_wait %t[%n], %n : memref<1xi32>
  %31 = memref.memory_space_cast %m : memref<?x?xf32> to memref<?x?xf32, 1>
  %32 = memref.subview %sub[0, 0] [2, 2] [1, 1] : memref<?x4xf32, strided<[?, 1], offset: ?>> to memref<2x2xf32, strided<[?, 1], offset: ?>>
  return
}
memref.global "private" @g : memref<2xf32> = dense<[0.0, 1.0]>
memref.global @g2 : memref<2xf32>
memref.global @g3 : memref<2xf32> = uninitialized
memref.global "private" constant @g4 : memref<2xf32> = dense<0.0>
memref.global constant @g5 : memref<2x2xi8> = dense<[[1, 2], [3, 4]]> {x.y}
