// Product with a unit lower triangular matrix, transposed and in place:
// B = alpha A' B.
#after = affine_map<(i) -> (i + 1)>
!matrix = memref<?x?xf64>

func.func @trmm(%alpha: f64, %A: !matrix, %B: !matrix) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %M = memref.dim %B, %c0 : !matrix
  %N = memref.dim %B, %c1 : !matrix
  affine.for %i = 0 to %M {
    affine.for %j = 0 to %N {
      affine.for %k = #after(%i) to %M {
        %a = affine.load %A[%k, %i] : !matrix
        %b_k = affine.load %B[%k, %j] : !matrix
        %b = affine.load %B[%i, %j] : !matrix
        %product = arith.mulf %a, %b_k : f64
        %next = arith.addf %b, %product : f64
        affine.store %next, %B[%i, %j] : !matrix
      }
      %b = affine.load %B[%i, %j] : !matrix
      %scaled = arith.mulf %alpha, %b : f64
      affine.store %scaled, %B[%i, %j] : !matrix
    }
  }
  return
}
