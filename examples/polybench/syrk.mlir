// Symmetric update: the lower triangle of C = alpha A A' + beta C.
#through = affine_map<(i) -> (i + 1)>
!matrix = memref<?x?xf64>

func.func @syrk(%alpha: f64, %beta: f64, %C: !matrix, %A: !matrix) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = memref.dim %A, %c0 : !matrix
  %M = memref.dim %A, %c1 : !matrix
  affine.for %i = 0 to %N {
    affine.for %j = 0 to #through(%i) {
      %c = affine.load %C[%i, %j] : !matrix
      %scaled = arith.mulf %c, %beta : f64
      affine.store %scaled, %C[%i, %j] : !matrix
    }
    affine.for %k = 0 to %M {
      affine.for %j = 0 to #through(%i) {
        %c = affine.load %C[%i, %j] : !matrix
        %a_i = affine.load %A[%i, %k] : !matrix
        %a_j = affine.load %A[%j, %k] : !matrix
        %scaled = arith.mulf %alpha, %a_i : f64
        %product = arith.mulf %scaled, %a_j : f64
        %next = arith.addf %c, %product : f64
        affine.store %next, %C[%i, %j] : !matrix
      }
    }
  }
  return
}
