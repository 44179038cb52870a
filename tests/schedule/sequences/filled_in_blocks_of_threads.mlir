module attributes {transform.with_named_sequence} {
  func.func @f(%A: tensor<32x24xf32>, %B: tensor<24x40xf32>) -> tensor<32x40xf32> {
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<32x40xf32>
    %z = linalg.fill ins(%c : f32) outs(%e : tensor<32x40xf32>) -> tensor<32x40xf32>
    %0 = linalg.matmul ins(%A, %B : tensor<32x24xf32>, tensor<24x40xf32>)
        outs(%z : tensor<32x40xf32>) -> tensor<32x40xf32>
    return %0 : tensor<32x40xf32>
  }
  transform.named_sequence @__transform_main(%arg1: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    %fill = transform.structured.match ops{["linalg.fill"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    %1, %forall = transform.structured.tile_using_forall %0 tile_sizes [16, 20]
        ( mapping = [#gpu.block<y>, #gpu.block<x>] ) : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op)
    %ff, %c = transform.structured.fuse_into_containing_op %fill into %forall
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %2, %red = transform.structured.tile_using_for %1 tile_sizes [0, 0, 12]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %3, %th = transform.structured.tile_using_forall %2 num_threads [4, 5]
        ( mapping = [#gpu.thread<y>, #gpu.thread<x>] ) : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op)
    %f = transform.structured.match ops{["func.func"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    %g = transform.gpu.map_forall_to_blocks %f generate_gpu_launch : (!transform.any_op)
        -> !transform.any_op
    %h = transform.gpu.map_nested_forall_to_threads %g block_dims = [5, 4, 1]
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
