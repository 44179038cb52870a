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
    %mm = transform.structured.match ops{["linalg.matmul"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    %elemwise = transform.structured.match ops{["linalg.elemwise_binary"]} in %arg1
        : (!transform.any_op) -> !transform.any_op
    %add, %max = transform.split_handle %elemwise : (!transform.any_op)
        -> (!transform.any_op, !transform.any_op)
    %tiled_max, %loop = transform.structured.tile_using_forall %max tile_sizes [8, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %add_fused, %loop2 = transform.structured.fuse_into_containing_op %add into %loop
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %matmul_fused, %loop3 = transform.structured.fuse_into_containing_op %mm into %loop2
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tiled_2, %loop_2 = transform.structured.tile_using_forall %add_fused tile_sizes [4, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %matmul_fused_2, %loop_3 = transform.structured.fuse_into_containing_op %matmul_fused into %loop_2 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
