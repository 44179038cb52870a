// RUN: gpucodegen opt %s -p privatize | filecheck %s

// Iterations share no buffer, and may run at the same time.
// CHECK-LABEL: func.func @scratch
// CHECK-NEXT:    affine.for %i
// CHECK-NEXT:      %[[OWN:.*]] = memref.alloca() : memref<4xf32>
// CHECK:             affine.store %{{.*}}, %[[OWN]]
// CHECK:             affine.load %[[OWN]]
// CHECK-NOT:     memref.dealloc
func.func @scratch(%A: memref<8x4xf32>) {
  %S = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      %a = affine.load %A[%i, %j] : memref<8x4xf32>
      affine.store %a, %S[%j] : memref<4xf32>
    }
    affine.for %j = 0 to 3 {
      %x = affine.load %S[%j] : memref<4xf32>
      %y = affine.load %S[%j + 1] : memref<4xf32>
      %p = arith.mulf %x, %y : f32
      affine.store %p, %A[%i, %j] : memref<8x4xf32>
    }
  }
  memref.dealloc %S : memref<4xf32>
  return
}
