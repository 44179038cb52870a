// RUN: gpucodegen opt %s -p 'vectorize{vector_bits=256}' | filecheck %s
// RUN: gpucodegen opt %s -p 'vectorize{vector_bits=512}' | filecheck %s --check-prefix=WIDE

// CHECK-LABEL: func.func @scale
// CHECK:         affine.for %[[I:.*]] = 0 to 64 step 8
// CHECK:           %[[A:.*]] = affine.vector_load %A[%[[I]]] : memref<64xf32>, vector<8xf32>
// CHECK:           %[[X:.*]] = vector.broadcast %x
// CHECK:           %[[S:.*]] = arith.mulf %[[A]], %[[X]] : vector<8xf32>
// CHECK:           affine.vector_store %[[S]], %A[%[[I]]]

// Each iteration needs what the one before it stored.
// CHECK-LABEL: func.func @prefix
// CHECK-NOT:     vector

// WIDE: affine.for %{{.*}} = 0 to 64 step 16
func.func @scale(%A: memref<64xf32>, %x: f32) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i] : memref<64xf32>
    %s = arith.mulf %a, %x : f32
    affine.store %s, %A[%i] : memref<64xf32>
  }
  return
}

func.func @prefix(%A: memref<65xf32>) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i] : memref<65xf32>
    %b = affine.load %A[%i + 1] : memref<65xf32>
    %s = arith.addf %a, %b : f32
    affine.store %s, %A[%i + 1] : memref<65xf32>
  }
  return
}
