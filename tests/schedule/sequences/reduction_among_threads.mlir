module attributes {transform.with_named_sequence} {
  func.func @f(%A: memref<24x90xf32>, %B: memref<90x16xf32>, %C: memref<24x16xf32>) {
    linalg.matmul ins(%A, %B : memref<24x90xf32>, memref<90x16xf32>)
        outs(%C : memref<24x16xf32>)
    return
  }
  transform.named_sequence @__transform_main(%arg0: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %arg0
        : (!transform.any_op) -> !transform.any_op
    %fill, %split, %merge, %forall = transform.structured.tile_reduction_using_forall %0
        by num_threads = [0, 0, 6], mapping = [#gpu.block<x>]
        : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %f = transform.structured.match ops{["func.func"]} in %arg0
        : (!transform.any_op) -> !transform.any_op
    %g = transform.gpu.map_forall_to_blocks %f generate_gpu_launch
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
