module attributes {transform.with_named_sequence} {
  func.func @f(%A: memref<32x24xf32>, %B: memref<24x40xf32>, %C: memref<32x40xf32>) {
    linalg.matmul ins(%A, %B : memref<32x24xf32>, memref<24x40xf32>) outs(%C : memref<32x40xf32>)
    return
  }
  transform.named_sequence @__transform_main(%arg1: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    %p = transform.param.constant 8 : i64 -> !transform.param<i64>
    %1, %loops:3 = transform.structured.tile_using_for %0 tile_sizes [%p, 16, %p]
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
            -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
