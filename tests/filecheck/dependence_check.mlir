// RUN: gpucodegen opt %s -p memref-dependence-check 2>&1 | filecheck %s
// RUN: gpucodegen deps %s | filecheck %s --check-prefix=DEPS

// Access 0 reads, access 1 writes: the next iteration reads what this one wrote.
// CHECK: remark: dependence from 0 to 1 at depth 1 = false
// CHECK: remark: dependence from 1 to 0 at depth 1 = [1, 1]

// DEPS-LABEL: @shift
// DEPS-NEXT:    i: sequential: read after write on A carried by i
func.func @shift(%A: memref<9xf32>) {
  affine.for %i = 0 to 8 {
    %v = affine.load %A[%i] : memref<9xf32>
    affine.store %v, %A[%i + 1] : memref<9xf32>
  }
  return
}
