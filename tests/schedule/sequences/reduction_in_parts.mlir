module attributes {transform.with_named_sequence} {
  func.func @f(%x: tensor<16x100xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
    %0 = linalg.generic {
        indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<16x100xf32>) outs(%y : tensor<16xf32>) {
      ^bb0(%a: f32, %t: f32):
        %s = arith.addf %t, %a : f32
        linalg.yield %s : f32
    } -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  transform.named_sequence @__transform_main(%arg0: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.generic"]} in %arg0
        : (!transform.any_op) -> !transform.any_op
    %fill, %split, %merge, %loop = transform.structured.tile_reduction_using_for %0
        by tile_sizes = [0, 8]
        : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.loop.unroll %loop {factor = 2} : !transform.any_op
    transform.yield
  }
}
