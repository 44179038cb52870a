// RUN: gpucodegen opt %s -p 'unroll-and-jam{factor=2}' | filecheck %s

// Two rows share one loop over the columns.
// CHECK-LABEL: func.func @sums
// CHECK-NEXT:    affine.for %[[I:.*]] = 0 to 6 step 2
// CHECK-NEXT:      %[[NEXT:.*]] = affine.apply {{.*}}(d0 + 1)>(%[[I]])
// CHECK-NEXT:      affine.for %[[J:.*]] = 0 to 8
// CHECK-NEXT:        affine.load %A[%[[I]], %[[J]]]
// CHECK:             affine.load %A[%[[NEXT]], %[[J]]]
// CHECK:             affine.store %{{.*}}, %B[%[[NEXT]]]
// CHECK-NOT:       affine.for
func.func @sums(%A: memref<6x8xf32>, %B: memref<6xf32>) {
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 8 {
      %a = affine.load %A[%i, %j] : memref<6x8xf32>
      %b = affine.load %B[%i] : memref<6xf32>
      %s = arith.addf %a, %b : f32
      affine.store %s, %B[%i] : memref<6xf32>
    }
  }
  return
}
