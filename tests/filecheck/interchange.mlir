// RUN: gpucodegen opt %s -p 'interchange{order=[k,i,j]}' | filecheck %s

// Sums may be added up along any loop that is outermost.
// CHECK-LABEL: func.func @product
// CHECK-NEXT:    affine.for %k
// CHECK-NEXT:      affine.for %i
// CHECK-NEXT:        affine.for %j
// CHECK-NOT:           affine.for
// CHECK:               affine.store %{{.*}}, %C[%i, %j]
func.func @product(%A: memref<4x6xf32>, %B: memref<6x5xf32>, %C: memref<4x5xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 5 {
      affine.for %k = 0 to 6 {
        %a = affine.load %A[%i, %k] : memref<4x6xf32>
        %b = affine.load %B[%k, %j] : memref<6x5xf32>
        %c = affine.load %C[%i, %j] : memref<4x5xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<4x5xf32>
      }
    }
  }
  return
}
