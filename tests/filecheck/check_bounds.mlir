// RUN: not gpucodegen opt %s -p check-bounds 2>&1 | filecheck %s

// CHECK: check_bounds.mlir:{{[0-9]+}}:5: error: access of A is out of bounds: iteration (i=7) writes A[8]
// CHECK-NOT: module
func.func @past(%A: memref<8xf32>, %x: f32) {
  affine.for %i = 0 to 8 {
    affine.store %x, %A[%i + 1] : memref<8xf32>
  }
  return
}
