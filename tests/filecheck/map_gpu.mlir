// RUN: gpucodegen opt %s -p map-gpu | filecheck %s

// CHECK:       gpu.module @[[KERNELS:.*]] {
// CHECK-NEXT:    gpu.func @[[KERNEL:.*]]({{.*}}) kernel
// CHECK-DAG:       %[[T:.*]] = gpu.thread_id x
// CHECK-DAG:       %[[B:.*]] = gpu.block_id x
// CHECK:           affine.apply {{.*}}(%[[B]], %[[T]])
// No thread leaves the array: 1000 is no multiple of a block.
// CHECK-NEXT:      affine.if {{.*}}-d0 + 999 >= 0
// CHECK:           gpu.return
// CHECK-LABEL: func.func @add
// CHECK-NOT:     affine.for
// CHECK:         gpu.launch_func @[[KERNELS]]::@[[KERNEL]] blocks in
func.func @add(%A: memref<1000xf32>, %B: memref<1000xf32>) {
  affine.for %i = 0 to 1000 {
    %a = affine.load %A[%i] : memref<1000xf32>
    %b = affine.load %B[%i] : memref<1000xf32>
    %s = arith.addf %a, %b : f32
    affine.store %s, %B[%i] : memref<1000xf32>
  }
  return
}
