func.func @f(%A: memref<32x24xf32>, %B: memref<24x40xf32>, %C: memref<32x40xf32>) {
    linalg.matmul ins(%A, %B : memref<32x24xf32>, memref<24x40xf32>) outs(%C : memref<32x40xf32>)
    return
  }
transform.sequence failures(suppress) {
^bb0(%arg1: !transform.any_op):
  %0 = transform.structured.match ops{["linalg.matmul"]} in %arg1 : (!transform.any_op)
      -> !transform.any_op
  %1, %loops:3 = transform.structured.tile %0 [4, 4, 4] : (!transform.any_op)
      -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
  %p, %r = transform.loop.peel %loops#0 : (!transform.any_op)
      -> (!transform.any_op, !transform.any_op)
  transform.yield
}
