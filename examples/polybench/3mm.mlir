// Three matrix products: G = (A B) (C D), by way of E = A B and F = C D.
!matrix = memref<?x?xf64>

func.func @k3mm(%E: !matrix, %A: !matrix, %B: !matrix, %F: !matrix, %C: !matrix,
                %D: !matrix, %G: !matrix) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %NI = memref.dim %A, %c0 : !matrix
  %NK = memref.dim %A, %c1 : !matrix
  %NJ = memref.dim %B, %c1 : !matrix
  %NM = memref.dim %C, %c1 : !matrix
  %NL = memref.dim %D, %c1 : !matrix
  %zero = arith.constant 0.0 : f64

  // E = A B
  affine.for %i = 0 to %NI {
    affine.for %j = 0 to %NJ {
      affine.store %zero, %E[%i, %j] : !matrix
      affine.for %k = 0 to %NK {
        %a = affine.load %A[%i, %k] : !matrix
        %b = affine.load %B[%k, %j] : !matrix
        %sum = affine.load %E[%i, %j] : !matrix
        %product = arith.mulf %a, %b : f64
        %next = arith.addf %sum, %product : f64
        affine.store %next, %E[%i, %j] : !matrix
      }
    }
  }

  // F = C D
  affine.for %i = 0 to %NJ {
    affine.for %j = 0 to %NL {
      affine.store %zero, %F[%i, %j] : !matrix
      affine.for %k = 0 to %NM {
        %c = affine.load %C[%i, %k] : !matrix
        %d = affine.load %D[%k, %j] : !matrix
        %sum = affine.load %F[%i, %j] : !matrix
        %product = arith.mulf %c, %d : f64
        %next = arith.addf %sum, %product : f64
        affine.store %next, %F[%i, %j] : !matrix
      }
    }
  }

  // G = E F
  affine.for %i = 0 to %NI {
    affine.for %j = 0 to %NL {
      affine.store %zero, %G[%i, %j] : !matrix
      affine.for %k = 0 to %NJ {
        %e = affine.load %E[%i, %k] : !matrix
        %f = affine.load %F[%k, %j] : !matrix
        %sum = affine.load %G[%i, %j] : !matrix
        %product = arith.mulf %e, %f : f64
        %next = arith.addf %sum, %product : f64
        affine.store %next, %G[%i, %j] : !matrix
      }
    }
  }
  return
}
