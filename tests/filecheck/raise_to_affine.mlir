// RUN: gpucodegen opt %s -p raise-to-affine | filecheck %s

// CHECK-LABEL: func.func @shift
// CHECK-NOT:     scf.for
// CHECK:         affine.for %[[I:.*]] = 0 to {{.*}}(%n) {
// CHECK:           affine.load %A[%[[I]] + 1]
// CHECK:           affine.store %{{.*}}, %A[%[[I]]]

// The product of two variables is not affine and stays as it is.
// CHECK-LABEL: func.func @product_of_variables
// CHECK-NOT:     affine.store
// CHECK:         memref.store %x, %A[%ij]
func.func @shift(%A: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.addi %i, %c1 : index
    %v = memref.load %A[%j] : memref<?xf32>
    memref.store %v, %A[%i] : memref<?xf32>
  }
  return
}

func.func @product_of_variables(%A: memref<?xf32>, %x: f32) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %ij = arith.muli %i, %j : index
      memref.store %x, %A[%ij] : memref<?xf32>
    }
  }
  return
}
