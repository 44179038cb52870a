// RUN: gpucodegen opt %s -p bufferize | filecheck %s
// RUN: gpucodegen opt %s -p 'bufferize{report=true}' 2>&1 | filecheck %s --check-prefix=WHY

// Nobody reads the old value of a tensor that is made here.
// CHECK-LABEL: func.func @in_place
// CHECK-COUNT-1: memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         memref.store %y, %t[
// CHECK:         return %t

// CHECK-LABEL: func.func @both_are_used
// CHECK:         memref.copy %t, %[[NEW:.*]] : memref
// CHECK:         memref.store %{{.*}}, %[[NEW]][
// CHECK:         return %t, %[[NEW]]

// WHY-COUNT-1: remark: 'tensor.insert' works on a copy of '%t': 'func.return' reads the old
// WHY-NOT:     remark
func.func @in_place(%x: f32, %y: f32) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.splat %x : tensor<8xf32>
  %new = tensor.insert %y into %t[%c0] : tensor<8xf32>
  return %new : tensor<8xf32>
}

func.func @both_are_used(%x: f32, %y: f32) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.splat %x : tensor<8xf32>
  %new = tensor.insert %y into %t[%c0] : tensor<8xf32>
  return %t, %new : tensor<8xf32>, tensor<8xf32>
}
