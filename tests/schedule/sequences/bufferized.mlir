module attributes {transform.with_named_sequence} {
  func.func @f(%A: tensor<32x24xf32>, %B: tensor<24x40xf32>, %C: tensor<32x40xf32>)
      -> tensor<32x40xf32> {
    %0 = linalg.matmul ins(%A, %B : tensor<32x24xf32>, tensor<24x40xf32>)
        outs(%C : tensor<32x40xf32>) -> tensor<32x40xf32>
    return %0 : tensor<32x40xf32>
  }
  transform.named_sequence @__transform_main(%arg1: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    %1, %loops:2 = transform.structured.tile_using_for %0 tile_sizes [8, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %b = transform.bufferization.one_shot_bufferize layout{IdentityLayoutMap} %arg1 { bufferize_function_boundaries = true } : (!transform.any_op) -> !transform.any_op
    %f = transform.structured.match ops{["func.func"]} in %b : (!transform.any_op)
        -> !transform.any_op
    %g = transform.apply_registered_pass "canonicalize" to %f : (!transform.any_op)
        -> !transform.any_op
    transform.debug.emit_remark_at %f, "done" : !transform.any_op
    transform.yield
  }
}
