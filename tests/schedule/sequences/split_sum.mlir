module attributes {transform.with_named_sequence} {
  func.func @f(%x: tensor<96xf32>, %y: tensor<f32>) -> tensor<f32> {
    %0 = linalg.generic {
        indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
        iterator_types = ["reduction"]}
        ins(%x : tensor<96xf32>) outs(%y : tensor<f32>) {
      ^bb0(%a: f32, %t: f32):
        %s = arith.addf %t, %a : f32
        linalg.yield %s : f32
    } -> tensor<f32>
    return %0 : tensor<f32>
  }
  transform.named_sequence @__transform_main(%arg0: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.generic"]} in %arg0
        : (!transform.any_op) -> !transform.any_op
    %init, %fill, %split, %combine = transform.structured.split_reduction %0
        { split_factor = 4, insert_split_dimension = 0, inner_parallel }
        : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
