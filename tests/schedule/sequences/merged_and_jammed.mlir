module attributes {transform.with_named_sequence} {
  func.func @f(%A: memref<32x24xf32>, %B: memref<24x40xf32>, %C: memref<32x40xf32>) {
    linalg.matmul ins(%A, %B : memref<32x24xf32>, memref<24x40xf32>)
        outs(%C : memref<32x40xf32>)
    linalg.matmul ins(%A, %B : memref<32x24xf32>, memref<24x40xf32>)
        outs(%C : memref<32x40xf32>)
    linalg.abs ins(%C : memref<32x40xf32>) outs(%C : memref<32x40xf32>)
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %both = transform.structured.match ops{["linalg.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %one, %two = transform.split_handle %both
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %g = transform.structured.generalize %one : (!transform.any_op) -> !transform.any_op
    %abs = transform.structured.match ops{["linalg.abs"]} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll_and_jam %abs {factor = 2 : i64} : !transform.any_op
    %all = transform.merge_handles %two, %g : !transform.any_op
    %1, %loops:2 = transform.structured.tile_using_for %all tile_sizes [8, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.print %1 : !transform.any_op
    transform.apply_dce to %root : !transform.any_op
    transform.apply_licm to %loops#1 : !transform.any_op
    transform.yield
  }
}
