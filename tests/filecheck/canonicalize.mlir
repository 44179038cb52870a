// RUN: gpucodegen opt %s -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @folds
// CHECK-NEXT:    %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK-NEXT:    return %[[FIVE]]
func.func @folds(%A: memref<8xi32>) -> i32 {
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %five = arith.addi %c2, %c3 : i32
  %unused = arith.muli %five, %c3 : i32
  affine.for %i = 4 to 4 {
    affine.store %five, %A[%i] : memref<8xi32>
  }
  return %five : i32
}
