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
    %1, %forall = transform.structured.tile_using_forall %0 num_threads [4, 5]
        ( mapping = [#gpu.block<y>, #gpu.block<x>] ) : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op)
    %f = transform.structured.match ops{["func.func"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    transform.gpu.map_forall_to_blocks %f generate_gpu_launch grid_dims = [5, 4, 1]
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
