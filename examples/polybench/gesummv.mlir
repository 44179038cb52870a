// Sum of two matrix-vector products in one sweep: y = alpha A x + beta B x.
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @gesummv(%alpha: f64, %beta: f64, %A: !matrix, %B: !matrix, %tmp: !vector,
                   %x: !vector, %y: !vector) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !matrix
  %zero = arith.constant 0.0 : f64
  affine.for %i = 0 to %N {
    affine.store %zero, %tmp[%i] : !vector
    affine.store %zero, %y[%i] : !vector
    affine.for %j = 0 to %N {
      %xj = affine.load %x[%j] : !vector
      %a = affine.load %A[%i, %j] : !matrix
      %a_sum = affine.load %tmp[%i] : !vector
      %a_product = arith.mulf %a, %xj : f64
      %a_next = arith.addf %a_product, %a_sum : f64
      affine.store %a_next, %tmp[%i] : !vector
      %b = affine.load %B[%i, %j] : !matrix
      %b_sum = affine.load %y[%i] : !vector
      %b_product = arith.mulf %b, %xj : f64
      %b_next = arith.addf %b_product, %b_sum : f64
      affine.store %b_next, %y[%i] : !vector
    }
    %a_done = affine.load %tmp[%i] : !vector
    %b_done = affine.load %y[%i] : !vector
    %a_scaled = arith.mulf %alpha, %a_done : f64
    %b_scaled = arith.mulf %beta, %b_done : f64
    %both = arith.addf %a_scaled, %b_scaled : f64
    affine.store %both, %y[%i] : !vector
  }
  return
}
