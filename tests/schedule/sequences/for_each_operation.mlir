module attributes {transform.with_named_sequence} {
  func.func @f(%A: tensor<32x40xf32>, %B: tensor<32x40xf32>) -> tensor<32x40xf32> {
    %e = tensor.empty() : tensor<32x40xf32>
    %0 = linalg.exp ins(%A : tensor<32x40xf32>) outs(%e : tensor<32x40xf32>) -> tensor<32x40xf32>
    %1 = linalg.mul ins(%0, %B : tensor<32x40xf32>, tensor<32x40xf32>)
        outs(%e : tensor<32x40xf32>) -> tensor<32x40xf32>
    return %1 : tensor<32x40xf32>
  }
  transform.named_sequence @__transform_main(%arg1: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.exp", "linalg.mul"]} in %arg1
        : (!transform.any_op) -> !transform.any_op
    transform.foreach %0 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %1, %l = transform.structured.tile_using_for %op tile_sizes [8] : (!transform.any_op)
          -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}
