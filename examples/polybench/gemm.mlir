// General matrix product: C = alpha A B + beta C.
!matrix = memref<?x?xf64>

func.func @gemm(%alpha: f64, %beta: f64, %C: !matrix, %A: !matrix, %B: !matrix) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %NI = memref.dim %C, %c0 : !matrix
  %NJ = memref.dim %C, %c1 : !matrix
  %NK = memref.dim %A, %c1 : !matrix
  affine.for %i = 0 to %NI {
    affine.for %j = 0 to %NJ {
      %c = affine.load %C[%i, %j] : !matrix
      %scaled = arith.mulf %c, %beta : f64
      affine.store %scaled, %C[%i, %j] : !matrix
    }
    affine.for %k = 0 to %NK {
      affine.for %j = 0 to %NJ {
        %a = affine.load %A[%i, %k] : !matrix
        %b = affine.load %B[%k, %j] : !matrix
        %c = affine.load %C[%i, %j] : !matrix
        %scaled = arith.mulf %alpha, %a : f64
        %product = arith.mulf %scaled, %b : f64
        %next = arith.addf %c, %product : f64
        affine.store %next, %C[%i, %j] : !matrix
      }
    }
  }
  return
}
