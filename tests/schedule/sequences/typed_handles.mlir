module attributes {transform.with_named_sequence} {
  func.func @f(%A: memref<32x24xf32>, %B: memref<24x40xf32>, %C: memref<32x40xf32>) {
    linalg.matmul ins(%A, %B : memref<32x24xf32>, memref<24x40xf32>) outs(%C : memref<32x40xf32>)
    return
  }
  transform.named_sequence @__transform_main(%arg1: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.matmul"]} in %arg1 : (!transform.any_op)
        -> !transform.op<"linalg.matmul">
    %1, %loops:3 = transform.structured.tile_using_for %0 tile_sizes [4, 8, 16]
        : (!transform.op<"linalg.matmul">)
            -> (!transform.any_op, !transform.op<"scf.for">, !transform.op<"scf.for">, !transform.op<"scf.for">)
    %u = transform.cast %loops#2 : !transform.op<"scf.for"> to !transform.any_op
    transform.loop.unroll %u { factor = 4 } : !transform.any_op
    transform.yield
  }
}
