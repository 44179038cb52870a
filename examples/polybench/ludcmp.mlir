// Linear equations A x = b by LU factors (in place), forward substitution into y and
// backward substitution into x.
#own = affine_map<(i) -> (i)>
#after = affine_map<(i) -> (i + 1)>
#backward = affine_map<(k)[n] -> (n - 1 - k)>
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @ludcmp(%A: !matrix, %b: !vector, %x: !vector, %y: !vector) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !matrix

  // A = L U
  affine.for %i = 0 to %N {
    affine.for %j = 0 to #own(%i) {
      %start = affine.load %A[%i, %j] : !matrix
      %rest = affine.for %k = 0 to #own(%j) iter_args(%w = %start) -> (f64) {
        %ik = affine.load %A[%i, %k] : !matrix
        %kj = affine.load %A[%k, %j] : !matrix
        %product = arith.mulf %ik, %kj : f64
        %next = arith.subf %w, %product : f64
        affine.yield %next : f64
      }
      %jj = affine.load %A[%j, %j] : !matrix
      %quotient = arith.divf %rest, %jj : f64
      affine.store %quotient, %A[%i, %j] : !matrix
    }
    affine.for %j = #own(%i) to %N {
      %start = affine.load %A[%i, %j] : !matrix
      %rest = affine.for %k = 0 to #own(%i) iter_args(%w = %start) -> (f64) {
        %ik = affine.load %A[%i, %k] : !matrix
        %kj = affine.load %A[%k, %j] : !matrix
        %product = arith.mulf %ik, %kj : f64
        %next = arith.subf %w, %product : f64
        affine.yield %next : f64
      }
      affine.store %rest, %A[%i, %j] : !matrix
    }
  }

  // L y = b
  affine.for %i = 0 to %N {
    %start = affine.load %b[%i] : !vector
    %rest = affine.for %j = 0 to #own(%i) iter_args(%w = %start) -> (f64) {
      %ij = affine.load %A[%i, %j] : !matrix
      %yj = affine.load %y[%j] : !vector
      %product = arith.mulf %ij, %yj : f64
      %next = arith.subf %w, %product : f64
      affine.yield %next : f64
    }
    affine.store %rest, %y[%i] : !vector
  }

  // U x = y, from the last row up
  affine.for %k = 0 to %N {
    %i = affine.apply #backward(%k)[%N]
    %start = affine.load %y[%i] : !vector
    %rest = affine.for %j = #after(%i) to %N iter_args(%w = %start) -> (f64) {
      %ij = affine.load %A[%i, %j] : !matrix
      %xj = affine.load %x[%j] : !vector
      %product = arith.mulf %ij, %xj : f64
      %next = arith.subf %w, %product : f64
      affine.yield %next : f64
    }
    %ii = affine.load %A[%i, %i] : !matrix
    %quotient = arith.divf %rest, %ii : f64
    affine.store %quotient, %x[%i] : !vector
  }
  return
}
