// Symmetric update by two matrices: the lower triangle of
// C = alpha (A B' + B A') + beta C.
#through = affine_map<(i) -> (i + 1)>
!matrix = memref<?x?xf64>

func.func @syr2k(%alpha: f64, %beta: f64, %C: !matrix, %A: !matrix, %B: !matrix) {
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
        %a_j = affine.load %A[%j, %k] : !matrix
        %b_i = affine.load %B[%i, %k] : !matrix
        %b_j = affine.load %B[%j, %k] : !matrix
        %a_i = affine.load %A[%i, %k] : !matrix
        %a_scaled = arith.mulf %a_j, %alpha : f64
        %first = arith.mulf %a_scaled, %b_i : f64
        %b_scaled = arith.mulf %b_j, %alpha : f64
        %second = arith.mulf %b_scaled, %a_i : f64
        %both = arith.addf %first, %second : f64
        %next = arith.addf %c, %both : f64
        affine.store %next, %C[%i, %j] : !matrix
      }
    }
  }
  return
}
