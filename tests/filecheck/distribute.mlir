// RUN: gpucodegen opt %s -p distribute | filecheck %s

// Two statements that do not feed each other get loops of their own.
// CHECK-LABEL: func.func @two
// CHECK:         affine.for
// CHECK:           affine.store %{{.*}}, %A
// CHECK-NEXT:    }
// CHECK-NEXT:    affine.for
// CHECK:           affine.store %{{.*}}, %B

// A recurrence over both stays one loop.
// CHECK-LABEL: func.func @ring
// CHECK-COUNT-1: affine.for
// CHECK-NOT:     affine.for
func.func @two(%A: memref<8xf32>, %B: memref<8xf32>, %x: f32) {
  affine.for %i = 0 to 8 {
    affine.store %x, %A[%i] : memref<8xf32>
    affine.store %x, %B[%i] : memref<8xf32>
  }
  return
}

func.func @ring(%A: memref<9xf32>, %B: memref<9xf32>) {
  affine.for %i = 1 to 9 {
    %b = affine.load %B[%i - 1] : memref<9xf32>
    affine.store %b, %A[%i] : memref<9xf32>
    %a = affine.load %A[%i] : memref<9xf32>
    affine.store %a, %B[%i] : memref<9xf32>
  }
  return
}
