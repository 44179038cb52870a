// QR factors of an M x N matrix by the modified Gram-Schmidt method: the columns of Q
// are orthonormal, R is upper triangular, Q R is the A that was passed.
#after = affine_map<(k) -> (k + 1)>
!matrix = memref<?x?xf64>

func.func @gramschmidt(%A: !matrix, %R: !matrix, %Q: !matrix) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %M = memref.dim %A, %c0 : !matrix
  %N = memref.dim %A, %c1 : !matrix
  %zero = arith.constant 0.0 : f64
  affine.for %k = 0 to %N {
    // Column k of A, made one long, is column k of Q.
    %square = affine.for %i = 0 to %M iter_args(%sum = %zero) -> (f64) {
      %a = affine.load %A[%i, %k] : !matrix
      %a2 = arith.mulf %a, %a : f64
      %next = arith.addf %sum, %a2 : f64
      affine.yield %next : f64
    }
    %norm = math.sqrt %square : f64
    affine.store %norm, %R[%k, %k] : !matrix
    affine.for %i = 0 to %M {
      %a = affine.load %A[%i, %k] : !matrix
      %r = affine.load %R[%k, %k] : !matrix
      %q = arith.divf %a, %r : f64
      affine.store %q, %Q[%i, %k] : !matrix
    }
    // The columns after it lose their share of that direction.
    affine.for %j = #after(%k) to %N {
      affine.store %zero, %R[%k, %j] : !matrix
      affine.for %i = 0 to %M {
        %q = affine.load %Q[%i, %k] : !matrix
        %a = affine.load %A[%i, %j] : !matrix
        %sum = affine.load %R[%k, %j] : !matrix
        %product = arith.mulf %q, %a : f64
        %next = arith.addf %sum, %product : f64
        affine.store %next, %R[%k, %j] : !matrix
      }
      affine.for %i = 0 to %M {
        %q = affine.load %Q[%i, %k] : !matrix
        %a = affine.load %A[%i, %j] : !matrix
        %r = affine.load %R[%k, %j] : !matrix
        %product = arith.mulf %q, %r : f64
        %next = arith.subf %a, %product : f64
        affine.store %next, %A[%i, %j] : !matrix
      }
    }
  }
  return
}
