// A matrix is changed by two outer products and then multiplied twice:
// A = A + u1 v1' + u2 v2',  x = x + beta A' y + z,  w = w + alpha A x.
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @gemver(%alpha: f64, %beta: f64, %A: !matrix, %u1: !vector, %v1: !vector,
                  %u2: !vector, %v2: !vector, %w: !vector, %x: !vector, %y: !vector,
                  %z: !vector) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !matrix
  affine.for %i = 0 to %N {
    affine.for %j = 0 to %N {
      %a = affine.load %A[%i, %j] : !matrix
      %u1_i = affine.load %u1[%i] : !vector
      %v1_j = affine.load %v1[%j] : !vector
      %u2_i = affine.load %u2[%i] : !vector
      %v2_j = affine.load %v2[%j] : !vector
      %first = arith.mulf %u1_i, %v1_j : f64
      %second = arith.mulf %u2_i, %v2_j : f64
      %sum = arith.addf %a, %first : f64
      %next = arith.addf %sum, %second : f64
      affine.store %next, %A[%i, %j] : !matrix
    }
  }
  affine.for %i = 0 to %N {
    affine.for %j = 0 to %N {
      %xi = affine.load %x[%i] : !vector
      %a = affine.load %A[%j, %i] : !matrix
      %yj = affine.load %y[%j] : !vector
      %scaled = arith.mulf %beta, %a : f64
      %product = arith.mulf %scaled, %yj : f64
      %next = arith.addf %xi, %product : f64
      affine.store %next, %x[%i] : !vector
    }
  }
  affine.for %i = 0 to %N {
    %xi = affine.load %x[%i] : !vector
    %zi = affine.load %z[%i] : !vector
    %next = arith.addf %xi, %zi : f64
    affine.store %next, %x[%i] : !vector
  }
  affine.for %i = 0 to %N {
    affine.for %j = 0 to %N {
      %wi = affine.load %w[%i] : !vector
      %a = affine.load %A[%i, %j] : !matrix
      %xj = affine.load %x[%j] : !vector
      %scaled = arith.mulf %alpha, %a : f64
      %product = arith.mulf %scaled, %xj : f64
      %next = arith.addf %wi, %product : f64
      affine.store %next, %w[%i] : !vector
    }
  }
  return
}
