// Two matrix products in a row: D = beta D + (alpha A B) C.
!matrix = memref<?x?xf64>

func.func @k2mm(%alpha: f64, %beta: f64, %tmp: !matrix, %A: !matrix, %B: !matrix,
                %C: !matrix, %D: !matrix) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %NI = memref.dim %tmp, %c0 : !matrix
  %NJ = memref.dim %tmp, %c1 : !matrix
  %NK = memref.dim %A, %c1 : !matrix
  %NL = memref.dim %D, %c1 : !matrix
  %zero = arith.constant 0.0 : f64

  // tmp = alpha A B
  affine.for %i = 0 to %NI {
    affine.for %j = 0 to %NJ {
      affine.store %zero, %tmp[%i, %j] : !matrix
      affine.for %k = 0 to %NK {
        %a = affine.load %A[%i, %k] : !matrix
        %b = affine.load %B[%k, %j] : !matrix
        %sum = affine.load %tmp[%i, %j] : !matrix
        %scaled = arith.mulf %alpha, %a : f64
        %product = arith.mulf %scaled, %b : f64
        %next = arith.addf %sum, %product : f64
        affine.store %next, %tmp[%i, %j] : !matrix
      }
    }
  }

  // D = beta D + tmp C
  affine.for %i = 0 to %NI {
    affine.for %j = 0 to %NL {
      %d = affine.load %D[%i, %j] : !matrix
      %first = arith.mulf %d, %beta : f64
      affine.store %first, %D[%i, %j] : !matrix
      affine.for %k = 0 to %NJ {
        %t = affine.load %tmp[%i, %k] : !matrix
        %c = affine.load %C[%k, %j] : !matrix
        %sum = affine.load %D[%i, %j] : !matrix
        %product = arith.mulf %t, %c : f64
        %next = arith.addf %sum, %product : f64
        affine.store %next, %D[%i, %j] : !matrix
      }
    }
  }
  return
}
