// RUN: gpucodegen opt %s -p mem2reg | filecheck %s

// CHECK-LABEL: func.func @sum
// CHECK-NOT:     memref.alloca
// CHECK:         %[[R:.*]] = affine.for {{.*}} iter_args(%[[S:.*]] = %x) -> (f32) {
// CHECK:           %[[T:.*]] = arith.addf %[[S]],
// CHECK-NEXT:      affine.yield %[[T]] : f32
// CHECK:         return %[[R]] : f32
func.func @sum(%A: memref<8xf32>, %x: f32) -> f32 {
  %c = memref.alloca() : memref<f32>
  affine.store %x, %c[] : memref<f32>
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    %s = affine.load %c[] : memref<f32>
    %t = arith.addf %s, %a : f32
    affine.store %t, %c[] : memref<f32>
  }
  %r = affine.load %c[] : memref<f32>
  return %r : f32
}
