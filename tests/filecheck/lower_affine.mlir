// RUN: gpucodegen opt %s -p lower-affine | filecheck %s

// CHECK-LABEL: func.func @rows
// CHECK-NOT:     affine.
// CHECK:         cf.br ^[[HEAD:bb[0-9]+]](
// CHECK:       ^[[HEAD]](%[[I:.*]]: index):
// CHECK:         %[[MORE:.*]] = arith.cmpi slt, %[[I]],
// CHECK:         cf.cond_br %[[MORE]], ^[[BODY:bb[0-9]+]], ^[[END:bb[0-9]+]]
// CHECK:       ^[[BODY]]:
// CHECK:         memref.store %x, %A[
// CHECK:         cf.br ^[[HEAD]](
// CHECK:       ^[[END]]:
// CHECK-NEXT:    return
func.func @rows(%A: memref<64xf32>, %x: f32) {
  affine.for %i = 0 to 8 {
    affine.store %x, %A[%i * 8 + 3] : memref<64xf32>
  }
  return
}
