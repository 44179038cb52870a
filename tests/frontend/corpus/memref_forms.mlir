func.func @f1(%n: index, %i: index) {
  %0 = memref.alloc() : memref<8x64xf32, 1>
  %1 = memref.alloc(%n) : memref<8x?xf32, 1>
  %2 = memref.alloc()[%n] : memref<8x64xf32, affine_map<(d0, d1)[s0] -> (d0 + s0, d1)>, 1>
  %3 = memref.alloc(%n)[%n] : memref<8x?xf32, affine_map<(d0, d1)[s0] -> (d0 + s0, d1)>, 1>
  %4 = memref.alloc() alignment = 8 : memref<8x64xf32>
  %5 = memref.alloc() alignment = 8 {foo} : memref<8x64xf32>
  %6 = memref.alloca() alignment = 16 : memref<f32>
  %7 = memref.alloca(%n, %n) : memref<?x?xvector<4xf32>>
  %8 = memref.alloc() : memref<4xindex>
  %9 = memref.alloc() : memref<4x4xcomplex<f32>, strided<[8, 1], offset: 3>>
  %10 = memref.alloc(%n)[%n, %n] : memref<?x4xcomplex<f32>, strided<[?, 1], offset: ?>>
  %11 = memref.alloc() : memref<4xmemref<?xf32>>
  %12 = memref.alloc() : memref<4x!test.ty>
  %13 = memref.alloc() : memref<4x4xf32, strided<[1, 0], offset: 3>>
  memref.dealloc %0 : memref<8x64xf32, 1>
  return
}
func.func @f2(%s: memref<64xf32>, %d: memref<?xf32>, %n: index) {
  %0 = memref.realloc %s : memref<64xf32> to memref<124xf32>
  %1 = memref.realloc %d : memref<?xf32> to memref<124xf32>
  %2 = memref.realloc %d(%n) : memref<?xf32> to memref<?xf32>
  %3 = memref.realloc %s alignment = 8 : memref<64xf32> to memref<124xf32>
  %4 = memref.realloc %s(%n) alignment = 8 {a = 3} : memref<64xf32> to memref<?xf32>
  return
}
func.func @f3(%n: index) -> f32 {
  memref.alloca_scope {
    %0 = memref.alloca() : memref<4xf32>
  }
  memref.alloca_scope {
    %0 = memref.alloca() : memref<4xf32>
  }
  %r = memref.alloca_scope -> (f32) {
    %c = arith.constant 1.000000e+00 : f32
    memref.alloca_scope.return %c : f32
  }
  %q:2 = memref.alloca_scope -> (f32, i32) {
    %c = arith.constant 1.000000e+00 : f32
    %d = arith.constant 1 : i32
    memref.alloca_scope.return %c, %d : f32, i32
  }
  memref.alloca_scope {
  } {foo = 1}
  return %r : f32
}
func.func @f4(%m: memref<4x?xf32>, %z: memref<f32>, %i: index, %v: f32, %t: memref<3xmemref<4xf32>>) {
  %0 = memref.load %m[%i, %i] : memref<4x?xf32>
  %1 = memref.load %z[] : memref<f32>
  %2 = memref.load %m[%i, %i] nontemporal(true) : memref<4x?xf32>
  %3 = memref.load %m[%i, %i] : memref<4x?xf32>
  %4 = memref.load %m[%i, %i] alignment(16) : memref<4x?xf32>
  %5 = memref.load %m[%i, %i] alignment(16) nontemporal(true) {foo = "a"} : memref<4x?xf32>
  memref.store %v, %m[%i, %i] : memref<4x?xf32>
  memref.store %v, %z[] : memref<f32>
  memref.store %v, %m[%i, %i] nontemporal(true) : memref<4x?xf32>
  memref.store %v, %m[%i, %i] alignment(8) nontemporal(true) : memref<4x?xf32>
  memref.store %v, %m[%i, %i] alignment(8) {bar} : memref<4x?xf32>
  %6 = memref.load %t[%i] : memref<3xmemref<4xf32>>
  %7 = memref.load %6[%i] : memref<4xf32>
  return
}
func.func @f5(%a: memref<4x?xf32>, %b: memref<*xf32>, %c: memref<16xf32, strided<[1]>>, %d: memref<4x4xf32, affine_map<(d0, d1)[s0] -> (d0 * 4 + d1 + s0)>>) {
  %0 = memref.cast %a : memref<4x?xf32> to memref<?x?xf32>
  %1 = memref.cast %a : memref<4x?xf32> to memref<*xf32>
  %2 = memref.cast %b : memref<*xf32> to memref<4x?xf32>
  %3 = memref.cast %b {a} : memref<*xf32> to memref<4x4xf32, strided<[?, ?], offset: ?>>
  %4 = memref.cast %a : memref<4x?xf32> to memref<4x?xf32, strided<[?, 1], offset: ?>>
  %5 = memref.cast %c : memref<16xf32, strided<[1]>> to memref<?xf32>
  %6 = memref.cast %a : memref<4x?xf32> to memref<?x8xf32>
  return
}
func.func @f6(%a: memref<4x?xf32>, %b: memref<?x4xf32, 1>, %c: memref<*xf32>, %d: memref<4x?xf32, strided<[?, ?], offset: ?>>) {
  memref.copy %a, %d : memref<4x?xf32> to memref<4x?xf32, strided<[?, ?], offset: ?>>
  memref.copy %a, %b : memref<4x?xf32> to memref<?x4xf32, 1>
  memref.copy %a, %a {x = 1} : memref<4x?xf32> to memref<4x?xf32>
  memref.copy %c, %c : memref<*xf32> to memref<*xf32>
  memref.copy %a, %c : memref<4x?xf32> to memref<*xf32>
  return
}
func.func @f7(%a: memref<4x?xf32>, %c: memref<*xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %0 = memref.dim %a, %c0 : memref<4x?xf32>
  %1 = memref.dim %c, %c0 : memref<*xf32>
  %2 = memref.dim %a, %i : memref<4x?xf32>
  %3 = memref.rank %a : memref<4x?xf32>
  %4 = memref.rank %c {foo = 1} : memref<*xf32>
  return
}
func.func @f8(%a: memref<?xf32, 4>, %b: memref<*xf32, 4>) {
  %0 = memref.memory_space_cast %a : memref<?xf32, 4> to memref<?xf32>
  %1 = memref.memory_space_cast %b : memref<*xf32, 4> to memref<*xf32, 3>
  %2 = memref.memory_space_cast %b : memref<*xf32, 4> to memref<*xf32, #gpu.address_space<global>>
  return
}
func.func @f9(%a: memref<?x4xf32>, %b: memref<*xf32>, %i: index) {
  %0 = memref.assume_alignment %a, 16 : memref<?x4xf32>
  %1 = memref.extract_aligned_pointer_as_index %a : memref<?x4xf32> -> index
  %2 = memref.extract_aligned_pointer_as_index %b : memref<*xf32> -> index
  %base, %offset, %sizes, %sizes_0, %strides, %strides_0 = memref.extract_strided_metadata %a : memref<?x4xf32> -> memref<f32>, index, index, index, index, index
  %3:2 = memref.distinct_objects %a, %0 : memref<?x4xf32>, memref<?x4xf32>
  memref.prefetch %a[%i, %i], write, locality<1>, data : memref<?x4xf32>
  memref.prefetch %a[%i, %i], read, locality<3>, instr : memref<?x4xf32>
  memref.prefetch %a[%i, %i], read, locality<0>, data : memref<?x4xf32>
  return
}
func.func @f10(%a: memref<f32>, %b: memref<3xf32, strided<[?], offset: ?>>, %c: memref<4xf32, 3>) {
  %base, %offset = memref.extract_strided_metadata %a : memref<f32> -> memref<f32>, index
  %0:4 = memref.extract_strided_metadata %b : memref<3xf32, strided<[?], offset: ?>> -> memref<f32>, index, index, index
  %1:4 = memref.extract_strided_metadata %c : memref<4xf32, 3> -> memref<f32, 3>, index, index, index
  return
}
memref.global @x : memref<2xf32>
memref.global constant @y : memref<2xf32> = dense<[0.000000e+00, 2.000000e+00]>
memref.global "private" @z : memref<3x4xi32> = uninitialized
memref.global "private" constant @w : memref<3xi8> = dense<1> alignment = 64
memref.global "public" @v : memref<f32> = dense<1.000000e+00>
memref.global "private" @u : memref<1xf32> alignment = 8 {foo}
memref.global "nested" @t : memref<1xf32, 3> = uninitialized
memref.global "private" constant @s : memref<2x2xf32, strided<[2, 1]>> = dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]>
memref.global @c : memref<2xcomplex<f32>> = dense<(1.000000e+00,2.000000e+00)>
memref.global @res : memref<2xf32> = dense_resource<blob>
memref.global @idx : memref<2xindex> = dense<[1, 2]>
memref.global @big : memref<2x2xf32> = dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, -1.000000e+00]]>
func.func @f11() {
  %0 = memref.get_global @x : memref<2xf32>
  %1 = memref.get_global @t : memref<1xf32, 3>
  %2 = memref.get_global @v : memref<f32>
  return
}
func.func @f12(%f: f32, %i32: i32, %m: memref<4x?xf32>, %n: memref<4xi32>, %i: index) {
  %0 = memref.atomic_rmw addf %f, %m[%i, %i] : (f32, memref<4x?xf32>) -> f32
  %1 = memref.atomic_rmw assign %f, %m[%i, %i] : (f32, memref<4x?xf32>) -> f32
  %2 = memref.atomic_rmw maximumf %f, %m[%i, %i] : (f32, memref<4x?xf32>) -> f32
  %3 = memref.atomic_rmw minimumf %f, %m[%i, %i] : (f32, memref<4x?xf32>) -> f32
  %4 = memref.atomic_rmw maxnumf %f, %m[%i, %i] : (f32, memref<4x?xf32>) -> f32
  %5 = memref.atomic_rmw minnumf %f, %m[%i, %i] : (f32, memref<4x?xf32>) -> f32
  %6 = memref.atomic_rmw mulf %f, %m[%i, %i] : (f32, memref<4x?xf32>) -> f32
  %7 = memref.atomic_rmw addi %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %8 = memref.atomic_rmw maxs %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %9 = memref.atomic_rmw maxu %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %10 = memref.atomic_rmw mins %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %11 = memref.atomic_rmw minu %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %12 = memref.atomic_rmw muli %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %13 = memref.atomic_rmw ori %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %14 = memref.atomic_rmw andi %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %15 = memref.atomic_rmw xori %i32, %n[%i] {foo} : (i32, memref<4xi32>) -> i32
  %16 = memref.atomic_rmw assign %i32, %n[%i] : (i32, memref<4xi32>) -> i32
  %17 = memref.atomic_rmw addf %f, %m[%i, %i] : (f32, memref<4x?xf32>) -> f32
  return
}
func.func @f13(%m: memref<4x?xf32>, %i: index, %z: memref<i32>) {
  %0 = memref.generic_atomic_rmw %m[%i, %i] : memref<4x?xf32> {
  ^bb0(%v: f32):
    memref.atomic_yield %v : f32
  }
  %1 = memref.generic_atomic_rmw %z[] : memref<i32> {
  ^bb0(%v: i32):
    %c = arith.constant 1 : i32
    %d = arith.addi %v, %c : i32
    memref.atomic_yield %d : i32
  } {foo = 2}
  return
}
func.func @f14(%a: memref<40x128xf32>, %b: memref<2x1024xf32, 1>, %t: memref<1xi32>, %i: index, %n: index, %s: index, %z: memref<i32>) {
  memref.dma_start %a[%i, %i], %b[%i, %i], %n, %t[%i] : memref<40x128xf32>, memref<2x1024xf32, 1>, memref<1xi32>
  memref.dma_start %a[%i, %i], %b[%i, %i], %n, %t[%i], %s, %n : memref<40x128xf32>, memref<2x1024xf32, 1>, memref<1xi32>
  memref.dma_wait %t[%i], %n : memref<1xi32>
  memref.dma_start %a[%i, %i], %b[%i, %i], %n, %z[] : memref<40x128xf32>, memref<2x1024xf32, 1>, memref<i32>
  memref.dma_wait %z[], %n {foo} : memref<i32>
  return
}
func.func @f15(%a: memref<64x64xf32>, %d: memref<?x?xf32>, %i: index) {
  %0 = memref.subview %a[0, 0] [4, 4] [1, 1] : memref<64x64xf32> to memref<4x4xf32, strided<[64, 1]>>
  %1 = memref.subview %a[%i, 0] [4, 4] [1, 1] : memref<64x64xf32> to memref<4x4xf32, strided<[64, 1], offset: ?>>
  %2 = memref.subview %a[2, 3] [%i, 4] [1, 2] : memref<64x64xf32> to memref<?x4xf32, strided<[64, 2], offset: 131>>
  %3 = memref.subview %a[2, 3] [1, 4] [1, 1] : memref<64x64xf32> to memref<4xf32, strided<[1], offset: 131>>
  %4 = memref.subview %a[2, 3] [1, 1] [1, 1] : memref<64x64xf32> to memref<f32, strided<[], offset: 131>>
  %5 = memref.subview %d[%i, %i] [%i, %i] [%i, %i] : memref<?x?xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %6 = memref.subview %a[0, 0] [64, 64] [1, 1] : memref<64x64xf32> to memref<64x64xf32>
  %7 = memref.subview %a[0, 0] [4, 64] [1, 1] {foo} : memref<64x64xf32> to memref<4x64xf32>
  %8 = memref.subview %a[2, 3] [1, 4] [1, 1] : memref<64x64xf32> to memref<1x4xf32, strided<[64, 1], offset: 131>>
  %9 = memref.subview %a[%i, 3] [1, 4] [%i, 1] : memref<64x64xf32> to memref<1x4xf32, strided<[?, 1], offset: ?>>
  return
}
func.func @f16(%a: memref<8x16x4xf32>, %m: memref<8x16x4xf32, affine_map<(d0, d1, d2) -> (d0 * 64 + d1 * 4 + d2)>>, %i: index, %z: memref<f32>) {
  %0 = memref.subview %a[0, 2, 0] [1, 6, 1] [1, 1, 1] : memref<8x16x4xf32> to memref<6xf32, strided<[4], offset: 8>>
  %1 = memref.subview %a[0, 2, 0] [1, 6, 1] [1, 1, 1] : memref<8x16x4xf32> to memref<6x1xf32, strided<[4, 1], offset: 8>>
  %2 = memref.subview %a[0, 2, 0] [1, 6, 1] [1, 1, 1] : memref<8x16x4xf32> to memref<1x6xf32, strided<[64, 4], offset: 8>>
  %3 = memref.subview %m[%i, %i, %i] [%i, %i, %i] [%i, %i, %i] : memref<8x16x4xf32, affine_map<(d0, d1, d2) -> (d0 * 64 + d1 * 4 + d2)>> to memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>
  %4 = memref.subview %z[] [] [] : memref<f32> to memref<f32>
  return
}
func.func @f17(%a: memref<8x16x4xf32>, %i: index) {
  %0 = memref.subview %a[%i, %i, %i] [%i, %i, %i] [1, 1, 1] : memref<8x16x4xf32> to memref<?x?x?xf32, affine_map<(d0, d1, d2)[s0, s1, s2, s3] -> (d0 * s1 + d1 * s2 + d2 * s3 + s0)>>
  return
}
func.func @f18(%a: memref<?xf32>, %u: memref<*xf32>, %i: index, %sp: memref<?xf32, 3>) {
  %0 = memref.reinterpret_cast %a to offset: [0], sizes: [10, 10], strides: [10, 1] : memref<?xf32> to memref<10x10xf32>
  %1 = memref.reinterpret_cast %u to offset: [%i], sizes: [10, %i], strides: [%i, 1] : memref<*xf32> to memref<10x?xf32, strided<[?, 1], offset: ?>>
  %2 = memref.reinterpret_cast %a to offset: [0], sizes: [10, 10], strides: [1, 10] : memref<?xf32> to memref<10x10xf32, strided<[1, 10]>>
  %3 = memref.reinterpret_cast %a to offset: [0], sizes: [], strides: [] : memref<?xf32> to memref<f32>
  %4 = memref.reinterpret_cast %a to offset: [5], sizes: [], strides: [] {foo} : memref<?xf32> to memref<f32, strided<[], offset: 5>>
  %5 = memref.reinterpret_cast %sp to offset: [5], sizes: [3], strides: [1] : memref<?xf32, 3> to memref<3xf32, strided<[1], offset: 5>, 3>
  %6 = memref.reinterpret_cast %u to offset: [%i], sizes: [%i, 10], strides: [%i, 1] : memref<*xf32> to memref<?x10xf32, strided<[?, 1], offset: ?>>
  return
}
func.func @f19(%a: memref<?x?x4x8xf32>, %b: memref<1x1xf32>, %s: memref<3x4x5xf32, strided<[20, 5, 1], offset: 7>>, %i: index, %z: memref<f32>, %q: memref<?xf32>) {
  %0 = memref.collapse_shape %a [[0, 1], [2, 3]] : memref<?x?x4x8xf32> into memref<?x32xf32>
  %1 = memref.collapse_shape %b [] : memref<1x1xf32> into memref<f32>
  %2 = memref.collapse_shape %s [[0, 1], [2]] : memref<3x4x5xf32, strided<[20, 5, 1], offset: 7>> into memref<12x5xf32, strided<[5, 1], offset: 7>>
  %3 = memref.expand_shape %0 [[0, 1], [2, 3]] output_shape [%i, %i, 4, 8] : memref<?x32xf32> into memref<?x?x4x8xf32>
  %4 = memref.expand_shape %z [] output_shape [1, 1] : memref<f32> into memref<1x1xf32>
  %5 = memref.expand_shape %q [[0, 1]] output_shape [%i, 4] : memref<?xf32> into memref<?x4xf32>
  %6 = memref.collapse_shape %s [[0, 1, 2]] {foo} : memref<3x4x5xf32, strided<[20, 5, 1], offset: 7>> into memref<60xf32, strided<[1], offset: 7>>
  %7 = memref.expand_shape %6 [[0, 1, 2]] output_shape [3, 4, 5] {foo} : memref<60xf32, strided<[1], offset: 7>> into memref<3x4x5xf32, strided<[20, 5, 1], offset: 7>>
  return
}
func.func @f20(%a: memref<4x1xf32>, %u: memref<*xf32>, %s: memref<1xi32>, %d: memref<?xindex>, %s2: memref<2xi32>) {
  %0 = memref.reshape %a(%s) : (memref<4x1xf32>, memref<1xi32>) -> memref<4xf32>
  %1 = memref.reshape %a(%d) : (memref<4x1xf32>, memref<?xindex>) -> memref<*xf32>
  %2 = memref.reshape %u(%s2) {foo} : (memref<*xf32>, memref<2xi32>) -> memref<?x4xf32>
  return
}
func.func @f21(%a: memref<2048xi8>, %b: memref<?xi8, 3>, %i: index) {
  %0 = memref.view %a[%i][] : memref<2048xi8> to memref<64x4xf32>
  %1 = memref.view %a[%i][%i] : memref<2048xi8> to memref<?x4xf32>
  %2 = memref.view %b[%i][%i, %i] {foo} : memref<?xi8, 3> to memref<?x?xf32, 3>
  return
}
func.func @f22(%a: memref<2x3x4xf32>, %b: memref<?x?xf32, strided<[?, ?], offset: ?>>) {
  %0 = memref.transpose %a (d0, d1, d2) -> (d2, d0, d1) : memref<2x3x4xf32> to memref<4x2x3xf32, strided<[1, 12, 4]>>
  %1 = memref.transpose %b (d0, d1) -> (d1, d0) : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %2 = memref.transpose %b (d0, d1) -> (d1, d0) {foo} : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  return
}
func.func @f23(%a: memref<2x3x4xf32>) {
  %0 = memref.transpose %a (d0, d1, d2) -> (d2, d0, d1) : memref<2x3x4xf32> to memref<4x2x3xf32, affine_map<(d0, d1, d2) -> (d1 * 12 + d2 * 4 + d0)>>
  return
}
func.func @f24(%a: memref<4xf32>, %m: memref<4x4xf32>) {
  %0 = memref.reinterpret_cast %a to offset: [0], sizes: [2, 2], strides: [2, 1] {a = 1} : memref<4xf32> to memref<2x2xf32>
  %1 = memref.reinterpret_cast %a to offset: [0], sizes: [2, 2], strides: [2, 1] : memref<4xf32> to memref<2x2xf32>
  %2 = memref.subview %m[0, 0] [2, 2] [1, 1] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 1]>>
  return
}
func.func @f25(%m: memref<8x4xf32>, %n: memref<32xf32>) {
  %0 = memref.expand_shape %n [[0, 1]] output_shape [8, 4] : memref<32xf32> into memref<8x4xf32>
  %1 = memref.collapse_shape %m [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %2 = memref.assume_alignment %m, 16 : memref<8x4xf32>
  return
}
func.func @f26(%t: tensor<4xf32>, %m: memref<4xf32>, %u: memref<?xf32, strided<[?], offset: 3>>) {
  bufferization.materialize_in_destination %t in writable %m : (tensor<4xf32>, memref<4xf32>) -> ()
  %0 = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>
  %1 = bufferization.to_buffer %t : tensor<4xf32> to memref<4xf32>
  %2 = bufferization.clone %m : memref<4xf32> to memref<4xf32>
  %v = arith.constant 1.000000e+00 : f32
  %c0 = arith.constant 0 : index
  %3 = memref.atomic_rmw addf %v, %m[%c0] : (f32, memref<4xf32>) -> f32
  %4 = memref.atomic_rmw maximumf %v, %m[%c0] : (f32, memref<4xf32>) -> f32
  %5 = memref.atomic_rmw minimumf %v, %m[%c0] : (f32, memref<4xf32>) -> f32
  %6 = memref.reinterpret_cast %m to offset: [0], sizes: [2, 2], strides: [2, 1] : memref<4xf32> to memref<2x2xf32, strided<[2, 1]>>
  return
}
