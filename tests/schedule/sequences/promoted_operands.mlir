module attributes {transform.with_named_sequence} {
  func.func @f(%A: memref<32x24xf32>, %B: memref<24x40xf32>, %C: memref<32x40xf32>) {
    linalg.matmul ins(%A, %B : memref<32x24xf32>, memref<24x40xf32>) outs(%C : memref<32x40xf32>)
    return
  }
  transform.named_sequence @__transform_main(%arg1: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %arg1 : (!transform.any_op)
        -> !transform.any_op
    %1, %loops:3 = transform.structured.tile_using_for %0 tile_sizes [8, 16, 8]
        : (!transform.any_op)
            -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %2 = transform.structured.promote %1 { operands_to_promote = [0, 1], use_full_tiles_by_default } : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
