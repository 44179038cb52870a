// L x = b by forward substitution: every row waits for the rows above it.
#row = affine_map<(i) -> (i)>

func.func @trsv(%L: memref<?x?xf64>, %b: memref<?xf64>, %x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %L, %c0 : memref<?x?xf64>
  affine.for %i = 0 to %N {
    %start = affine.load %b[%i] : memref<?xf64>
    %rest = affine.for %j = 0 to #row(%i) iter_args(%sum = %start) -> (f64) {
      %l = affine.load %L[%i, %j] : memref<?x?xf64>
      %known = affine.load %x[%j] : memref<?xf64>
      %product = arith.mulf %l, %known : f64
      %next = arith.subf %sum, %product : f64
      affine.yield %next : f64
    }
    %diagonal = affine.load %L[%i, %i] : memref<?x?xf64>
    %quotient = arith.divf %rest, %diagonal : f64
    affine.store %quotient, %x[%i] : memref<?xf64>
  }
  return
}

// The same for many right-hand sides, in place: the columns are independent.
func.func @trsm(%L: memref<?x?xf64>, %X: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = memref.dim %L, %c0 : memref<?x?xf64>
  %R = memref.dim %X, %c1 : memref<?x?xf64>
  affine.for %i = 0 to %N {
    affine.for %j = 0 to #row(%i) {
      affine.for %r = 0 to %R {
        %l = affine.load %L[%i, %j] : memref<?x?xf64>
        %known = affine.load %X[%j, %r] : memref<?x?xf64>
        %value = affine.load %X[%i, %r] : memref<?x?xf64>
        %product = arith.mulf %l, %known : f64
        %next = arith.subf %value, %product : f64
        affine.store %next, %X[%i, %r] : memref<?x?xf64>
      }
    }
    affine.for %r = 0 to %R {
      %diagonal = affine.load %L[%i, %i] : memref<?x?xf64>
      %value = affine.load %X[%i, %r] : memref<?x?xf64>
      %quotient = arith.divf %value, %diagonal : f64
      affine.store %quotient, %X[%i, %r] : memref<?x?xf64>
    }
  }
  return
}
