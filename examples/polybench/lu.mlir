// LU factors without pivoting, in place: L below the diagonal (its own diagonal is 1),
// U on and above it.
#own = affine_map<(i) -> (i)>
!matrix = memref<?x?xf64>

func.func @lu(%A: !matrix) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !matrix
  affine.for %i = 0 to %N {
    // Row i of L.
    affine.for %j = 0 to #own(%i) {
      affine.for %k = 0 to #own(%j) {
        %ik = affine.load %A[%i, %k] : !matrix
        %kj = affine.load %A[%k, %j] : !matrix
        %ij = affine.load %A[%i, %j] : !matrix
        %product = arith.mulf %ik, %kj : f64
        %rest = arith.subf %ij, %product : f64
        affine.store %rest, %A[%i, %j] : !matrix
      }
      %ij = affine.load %A[%i, %j] : !matrix
      %jj = affine.load %A[%j, %j] : !matrix
      %quotient = arith.divf %ij, %jj : f64
      affine.store %quotient, %A[%i, %j] : !matrix
    }
    // Row i of U.
    affine.for %j = #own(%i) to %N {
      affine.for %k = 0 to #own(%i) {
        %ik = affine.load %A[%i, %k] : !matrix
        %kj = affine.load %A[%k, %j] : !matrix
        %ij = affine.load %A[%i, %j] : !matrix
        %product = arith.mulf %ik, %kj : f64
        %rest = arith.subf %ij, %product : f64
        affine.store %rest, %A[%i, %j] : !matrix
      }
    }
  }
  return
}
