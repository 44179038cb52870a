// RUN: gpucodegen opt %s -p 'tile{sizes=[16,16]},promote{arrays=[A]}' | filecheck %s

// A tile of A is read along its rows and lies in fast memory for the tile's iterations.
// CHECK-LABEL: func.func @transpose
// CHECK:         affine.for %[[IT:.*]] = 0 to 64 step 16
// CHECK:           affine.for %[[JT:.*]] = 0 to 64 step 16
// CHECK:             %[[FAST:.*]] = memref.alloc() : memref<16x16xf32, 2>
// CHECK:             affine.for %[[R:.*]] = 0 to 16
// CHECK:               affine.for %[[C:.*]] = 0 to 16
// CHECK-NEXT:            %[[V:.*]] = affine.load %A[%[[JT]] + %[[R]], %[[IT]] + %[[C]]]
// CHECK-NEXT:            affine.store %[[V]], %[[FAST]][%[[R]], %[[C]]]
// CHECK-NOT:         affine.load %A[
// CHECK:             affine.load %[[FAST]][%j - %[[JT]], %i - %[[IT]]]
// CHECK:             memref.dealloc %[[FAST]]
func.func @transpose(%A: memref<64x64xf32>, %B: memref<64x64xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %v = affine.load %A[%j, %i] : memref<64x64xf32>
      affine.store %v, %B[%i, %j] : memref<64x64xf32>
    }
  }
  return
}
