module attributes {transform.with_named_sequence} {
  func.func @f(%x: memref<20xf32>, %y: memref<4xf32>) {
    %c4 = arith.constant 4 : index
    affine.for %k = 0 to 20 step 4 {
      %fast = memref.alloc() : memref<4xf32, 2>
      %tag = memref.alloc() : memref<1xi32>
      affine.dma_start %x[%k], %fast[0], %tag[0], %c4
          : memref<20xf32>, memref<4xf32, 2>, memref<1xi32>
      affine.dma_wait %tag[0], %c4 : memref<1xi32>
      affine.for %i = 0 to 4 {
        %v = affine.load %fast[%i] : memref<4xf32, 2>
        %o = affine.load %y[%i] : memref<4xf32>
        %s = arith.addf %v, %o : f32
        affine.store %s, %y[%i] : memref<4xf32>
      }
    }
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %loops = transform.structured.match ops{["affine.for"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %inner, %outer = transform.split_handle %loops
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %1 = transform.loop.pipeline %outer : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
