// RUN: gpucodegen opt %s -p 'fuse{loops=[i,j]}' | filecheck %s
// RUN: gpucodegen opt %s -p 'fuse{loops=[i,j]},contract-arrays,canonicalize' | filecheck %s --check-prefix=VALUES

// What the second loop reads, the first one has just written.
// CHECK-LABEL: func.func @both
// CHECK:         affine.for
// CHECK:           math.exp
// CHECK:           affine.store
// CHECK-NOT:     affine.for
// CHECK:           arith.addf
// CHECK-NOT:     affine.for

// VALUES-LABEL: func.func @both
// VALUES-NOT:     memref.alloc
// VALUES:         %[[E:.*]] = math.exp
// VALUES-NEXT:    %[[S:.*]] = arith.addf %[[E]], %[[E]]
// VALUES-NEXT:    affine.store %[[S]], %B
func.func @both(%A: memref<8xf32>, %B: memref<8xf32>) {
  %T = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %v = affine.load %A[%i] : memref<8xf32>
    %e = math.exp %v : f32
    affine.store %e, %T[%i] : memref<8xf32>
  }
  affine.for %j = 0 to 8 {
    %t = affine.load %T[%j] : memref<8xf32>
    %s = arith.addf %t, %t : f32
    affine.store %s, %B[%j] : memref<8xf32>
  }
  memref.dealloc %T : memref<8xf32>
  return
}
