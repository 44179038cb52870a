// Product with a symmetric matrix, of which only the lower triangle is stored:
// C = alpha A B + beta C.
#own = affine_map<(i) -> (i)>
!matrix = memref<?x?xf64>

func.func @symm(%alpha: f64, %beta: f64, %C: !matrix, %A: !matrix, %B: !matrix) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %M = memref.dim %C, %c0 : !matrix
  %N = memref.dim %C, %c1 : !matrix
  %zero = arith.constant 0.0 : f64
  affine.for %i = 0 to %M {
    affine.for %j = 0 to %N {
      // A[i, k] stands for A[k, i] too: it serves row k of C and, by the sum, row i.
      %sum = affine.for %k = 0 to #own(%i) iter_args(%partial = %zero) -> (f64) {
        %a = affine.load %A[%i, %k] : !matrix
        %b_i = affine.load %B[%i, %j] : !matrix
        %c_k = affine.load %C[%k, %j] : !matrix
        %scaled = arith.mulf %alpha, %b_i : f64
        %product_k = arith.mulf %scaled, %a : f64
        %c_next = arith.addf %c_k, %product_k : f64
        affine.store %c_next, %C[%k, %j] : !matrix
        %b_k = affine.load %B[%k, %j] : !matrix
        %product_i = arith.mulf %b_k, %a : f64
        %next = arith.addf %partial, %product_i : f64
        affine.yield %next : f64
      }
      %c = affine.load %C[%i, %j] : !matrix
      %b = affine.load %B[%i, %j] : !matrix
      %diagonal = affine.load %A[%i, %i] : !matrix
      %old = arith.mulf %beta, %c : f64
      %b_scaled = arith.mulf %alpha, %b : f64
      %own = arith.mulf %b_scaled, %diagonal : f64
      %others = arith.mulf %alpha, %sum : f64
      %old_own = arith.addf %old, %own : f64
      %done = arith.addf %old_own, %others : f64
      affine.store %done, %C[%i, %j] : !matrix
    }
  }
  return
}
