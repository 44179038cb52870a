// y = A' (A x): each row of A is used twice while it is at hand.
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @atax(%A: !matrix, %x: !vector, %y: !vector, %tmp: !vector) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %M = memref.dim %A, %c0 : !matrix
  %N = memref.dim %A, %c1 : !matrix
  %zero = arith.constant 0.0 : f64
  affine.for %j = 0 to %N {
    affine.store %zero, %y[%j] : !vector
  }
  affine.for %i = 0 to %M {
    affine.store %zero, %tmp[%i] : !vector
    affine.for %j = 0 to %N {
      %a = affine.load %A[%i, %j] : !matrix
      %xj = affine.load %x[%j] : !vector
      %sum = affine.load %tmp[%i] : !vector
      %product = arith.mulf %a, %xj : f64
      %next = arith.addf %sum, %product : f64
      affine.store %next, %tmp[%i] : !vector
    }
    affine.for %j = 0 to %N {
      %a = affine.load %A[%i, %j] : !matrix
      %ti = affine.load %tmp[%i] : !vector
      %sum = affine.load %y[%j] : !vector
      %product = arith.mulf %a, %ti : f64
      %next = arith.addf %sum, %product : f64
      affine.store %next, %y[%j] : !vector
    }
  }
  return
}
