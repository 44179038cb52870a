module attributes {transform.with_named_sequence} {
  func.func @f(%lhs: tensor<32x24xf32>, %rhs: tensor<24x40xf32>,
      %bias: tensor<32x40xf32>, %output: tensor<32x40xf32>) -> tensor<32x40xf32> {
    %matmul = linalg.matmul ins(%lhs, %rhs: tensor<32x24xf32>, tensor<24x40xf32>)
        outs(%output: tensor<32x40xf32>) -> tensor<32x40xf32>
    %biased = linalg.elemwise_binary { fun = #linalg.binary_fn<add> }
        ins(%matmul, %bias : tensor<32x40xf32>, tensor<32x40xf32>)
            outs(%output : tensor<32x40xf32>) -> tensor<32x40xf32>
    %c0f = arith.constant 0.0 : f32
    %relued = linalg.elemwise_binary { fun = #linalg.binary_fn<max_signed> }
        ins(%biased, %c0f : tensor<32x40xf32>, f32) outs(%output : tensor<32x40xf32>)
            -> tensor<32x40xf32>
    func.return %relued : tensor<32x40xf32>
  }
  transform.named_sequence @__transform_main(%arg1: !transform.any_op {transform.readonly}) {
    %r = transform.foreach_match in %arg1
      @match_elemwise -> @tile_elemwise,
      @match_matmul -> @tile_matmul
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @match_elemwise(%entry: !transform.any_op {transform.readonly})
      -> !transform.any_op {
    transform.match.operation_name %entry ["linalg.elemwise_binary"] : !transform.any_op
    transform.yield %entry : !transform.any_op
  }
  transform.named_sequence @match_matmul(%entry: !transform.any_op {transform.readonly})
      -> !transform.any_op {
    transform.match.operation_name %entry ["linalg.matmul"] : !transform.any_op
    transform.yield %entry : !transform.any_op
  }
  transform.named_sequence @tile_elemwise(%op: !transform.any_op {transform.consumed}) {
    %1, %l = transform.structured.tile_using_for %op tile_sizes [8] : (!transform.any_op)
        -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence @tile_matmul(%op: !transform.any_op {transform.consumed}) {
    %1, %l:3 = transform.structured.tile_using_for %op tile_sizes [16, 16, 8]
        : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
