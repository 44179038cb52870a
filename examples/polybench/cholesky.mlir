// Cholesky factor of a positive definite matrix, in place: A becomes L with A = L L'.
// Only the lower triangle is read and written.
#own = affine_map<(i) -> (i)>
!matrix = memref<?x?xf64>

func.func @cholesky(%A: !matrix) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !matrix
  affine.for %i = 0 to %N {
    // Left of the diagonal: L[i,j] = (A[i,j] - L[i,:j] L[j,:j]) / L[j,j]
    affine.for %j = 0 to #own(%i) {
      affine.for %k = 0 to #own(%j) {
        %ik = affine.load %A[%i, %k] : !matrix
        %jk = affine.load %A[%j, %k] : !matrix
        %ij = affine.load %A[%i, %j] : !matrix
        %product = arith.mulf %ik, %jk : f64
        %rest = arith.subf %ij, %product : f64
        affine.store %rest, %A[%i, %j] : !matrix
      }
      %ij = affine.load %A[%i, %j] : !matrix
      %jj = affine.load %A[%j, %j] : !matrix
      %quotient = arith.divf %ij, %jj : f64
      affine.store %quotient, %A[%i, %j] : !matrix
    }
    // The diagonal: L[i,i] = sqrt(A[i,i] - L[i,:i] L[i,:i])
    affine.for %k = 0 to #own(%i) {
      %ik = affine.load %A[%i, %k] : !matrix
      %ii = affine.load %A[%i, %i] : !matrix
      %square = arith.mulf %ik, %ik : f64
      %rest = arith.subf %ii, %square : f64
      affine.store %rest, %A[%i, %i] : !matrix
    }
    %ii = affine.load %A[%i, %i] : !matrix
    %root = math.sqrt %ii : f64
    affine.store %root, %A[%i, %i] : !matrix
  }
  return
}
