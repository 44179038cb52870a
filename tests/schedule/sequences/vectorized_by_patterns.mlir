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
    %1, %loops:3 = transform.structured.tile_using_for %0 tile_sizes [8, 16, 8]
        : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.structured.vectorize %1 vector_sizes [8, 16, 8] : !transform.any_op
    %f = transform.structured.match ops{["func.func"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    transform.apply_patterns to %f {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.vector.split_transfer_full_partial split_transfer_strategy = "linalg-copy"
      transform.apply_patterns.vector.transfer_to_scf max_transfer_rank = 1 full_unroll = true
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.vector.lower_shape_cast
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_reshapes
      transform.apply_patterns.tensor.fold_tensor_subset_ops
    } : !transform.any_op
    transform.apply_cse to %f : !transform.any_op
    transform.yield
  }
}
