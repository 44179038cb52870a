// RUN: not gpucodegen opt %s -p 'tile{sizes=[4,4]}' 2>&1 | filecheck %s
// RUN: gpucodegen opt %s -p 'wavefront{sizes=[4,4]}' | filecheck %s --check-prefix=WAVES

// A tile would run (i, j + 1) before (i - 1, j + 2), which it reads.
// CHECK: {{[0-9]+}}:3: error: tiling the loops (i, j) is not legal
// CHECK-SAME: S0 at (i=1, j=2) writes A[1, 2] and S0 at (i=2, j=1) reads it
// CHECK-NOT: module

// Tiles of one wave run at once, for they are skewed.
// WAVES-LABEL: func.func @sweep
// WAVES-NEXT:    affine.for %[[WAVE:.*]] = 0 to
// WAVES-NEXT:      affine.parallel (%[[TILE:.*]]) = {{.*}}%[[WAVE]]
// WAVES-NEXT:        affine.for %[[I:.*]] = {{.*}}(%[[TILE]])
// WAVES-NEXT:          affine.for {{.*}}(%[[WAVE]], %[[TILE]], %[[I]])
func.func @sweep(%A: memref<18x18xf32>) {
  affine.for %i = 1 to 17 {
    affine.for %j = 1 to 17 {
      %v = affine.load %A[%i - 1, %j + 1] : memref<18x18xf32>
      affine.store %v, %A[%i, %j] : memref<18x18xf32>
    }
  }
  return
}
