func.func @f(%A: memref<32x24xf32>, %B: memref<24x40xf32>, %C: memref<32x40xf32>) {
    linalg.matmul ins(%A, %B : memref<32x24xf32>, memref<24x40xf32>) outs(%C : memref<32x40xf32>)
    return
  }
transform.sequence failures(propagate) {
^bb0(%arg1: !pdl.operation):
  %0 = transform.structured.match ops{["linalg.matmul"]} in %arg1 : (!pdl.operation)
      -> !pdl.operation
  %1, %loops:3 = transform.structured.tile_to_scf_for %0 [4, 4, 4] : (!pdl.operation)
      -> (!pdl.operation, !pdl.operation, !pdl.operation, !pdl.operation)
}
