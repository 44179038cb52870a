module attributes {transform.with_named_sequence} {
  func.func @f(%A: tensor<32x24xf32>, %B: tensor<32x24xf32>) -> tensor<32x24xf32> {
    %0 = linalg.exp ins(%A : tensor<32x24xf32>) outs(%B : tensor<32x24xf32>) -> tensor<32x24xf32>
    %1 = linalg.add ins(%0, %A : tensor<32x24xf32>, tensor<32x24xf32>)
        outs(%B : tensor<32x24xf32>) -> tensor<32x24xf32>
    return %1 : tensor<32x24xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %exp = transform.structured.match ops{["linalg.exp"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %add = transform.get_consumers_of_result %exp[0] : (!transform.any_op) -> !transform.any_op
    %1, %loops:2 = transform.structured.tile_using_for %add tile_sizes [1, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
