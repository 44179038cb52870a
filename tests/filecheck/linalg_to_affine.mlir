// RUN: gpucodegen opt %s -p generalize,linalg-to-affine | filecheck %s

// CHECK-LABEL: func.func @product
// CHECK-NEXT:    affine.for %[[I:.*]] = 0 to 4
// CHECK-NEXT:      affine.for %[[J:.*]] = 0 to 5
// CHECK-NEXT:        affine.for %[[K:.*]] = 0 to 6
// CHECK-DAG:           affine.load %A[%[[I]], %[[K]]]
// CHECK-DAG:           affine.load %B[%[[K]], %[[J]]]
// CHECK-DAG:           affine.load %C[%[[I]], %[[J]]]
// The sum may be taken in any order, as linalg has it.
// CHECK:               %[[S:.*]] = arith.addf {{.*}}fastmath<reassoc
// CHECK-NEXT:          affine.store %[[S]], %C[%[[I]], %[[J]]]
func.func @product(%A: memref<4x6xf32>, %B: memref<6x5xf32>, %C: memref<4x5xf32>) {
  linalg.matmul ins(%A, %B : memref<4x6xf32>, memref<6x5xf32>)
                outs(%C : memref<4x5xf32>)
  return
}
