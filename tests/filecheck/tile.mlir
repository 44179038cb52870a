// RUN: gpucodegen opt %s -p 'tile{sizes=[4,8]}' | filecheck %s
// RUN: gpucodegen opt %s -p 'tile{sizes=[4,8],separate=true}' | filecheck %s --check-prefix=FULL

// The last tile of 10 rows is a partial one. Full tiles that are apart have plain bounds.
// CHECK-LABEL: func.func @copy
// CHECK-NEXT:    affine.for %[[IT:.*]] = 0 to 10 step 4 {
// CHECK-NEXT:      affine.for %[[JT:.*]] = 0 to 16 step 8 {
// CHECK-NEXT:        affine.for %[[I:.*]] = {{.*}}(%[[IT]]) to min {{.*}}d0 + 4{{.*}}10{{.*}}(%[[IT]]) {
// CHECK-NEXT:          affine.for %[[J:.*]] = {{.*}}(%[[JT]]) to {{.*}}(d0 + 8)>(%[[JT]]) {
// CHECK-NEXT:            %[[V:.*]] = affine.load %A[%[[I]], %[[J]]]
// CHECK-NEXT:            affine.store %[[V]], %B[%[[I]], %[[J]]]

// FULL-LABEL: func.func @copy
// FULL:         affine.if
// FULL-NOT:       min
// FULL:         } else {
// FULL:           min
func.func @copy(%A: memref<10x16xf32>, %B: memref<10x16xf32>) {
  affine.for %i = 0 to 10 {
    affine.for %j = 0 to 16 {
      %v = affine.load %A[%i, %j] : memref<10x16xf32>
      affine.store %v, %B[%i, %j] : memref<10x16xf32>
    }
  }
  return
}
