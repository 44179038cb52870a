module attributes {transform.with_named_sequence} {
  func.func @f(%A: memref<32x24xf32>, %B: memref<32x24xf32>, %C: memref<32x24xf32>) {
    linalg.exp ins(%A : memref<32x24xf32>) outs(%B : memref<32x24xf32>)
    linalg.abs ins(%A : memref<32x24xf32>) outs(%C : memref<32x24xf32>)
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %f = transform.structured.match ops{["func.func"]} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.bufferization.eliminate_empty_tensors %f : !transform.any_op
    %exp = transform.structured.match ops{["linalg.exp"]} in %f
        : (!transform.any_op) -> !transform.any_op
    %abs = transform.structured.match ops{["linalg.abs"]} in %f
        : (!transform.any_op) -> !transform.any_op
    %d = transform.structured.decompose %exp : (!transform.any_op) -> !transform.any_op
    %s = transform.structured.specialize %d : (!transform.any_op) -> !transform.any_op
    %1, %forall = transform.structured.tile_to_forall_op %s tile_sizes [8, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %2, %loop = transform.structured.tile_using_for %abs tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %for = transform.loop.forall_to_for %forall : (!transform.any_op) -> !transform.any_op
    %row, %column = transform.split_handle %for
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %both = transform.loop.fuse_sibling %loop into %row
        : (!transform.any_op, !transform.any_op) -> !transform.any_op
    transform.loop.promote_if_one_iteration %both : !transform.any_op
    transform.yield
  }
}
