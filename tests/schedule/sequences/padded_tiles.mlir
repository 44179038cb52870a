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
    %1, %loops:3 = transform.structured.tile_using_for %0 tile_sizes [5, 6, 7]
        : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %padded, %pad, %copy_back = transform.structured.pad %1 {
      padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32],
      padding_dimensions = [0, 1, 2],
      nofold_flags = [1, 1, 0]
    } : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %f = transform.structured.match ops{["func.func"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    %v = transform.structured.vectorize_children_and_apply_patterns %f : (!transform.any_op)
        -> !transform.any_op
    transform.yield
  }
}
