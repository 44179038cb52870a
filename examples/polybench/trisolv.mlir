// Lower triangular equations L x = b by forward substitution.
#own = affine_map<(i) -> (i)>
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @trisolv(%L: !matrix, %x: !vector, %b: !vector) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %L, %c0 : !matrix
  affine.for %i = 0 to %N {
    %start = affine.load %b[%i] : !vector
    affine.store %start, %x[%i] : !vector
    affine.for %j = 0 to #own(%i) {
      %l = affine.load %L[%i, %j] : !matrix
      %xj = affine.load %x[%j] : !vector
      %xi = affine.load %x[%i] : !vector
      %product = arith.mulf %l, %xj : f64
      %rest = arith.subf %xi, %product : f64
      affine.store %rest, %x[%i] : !vector
    }
    %xi = affine.load %x[%i] : !vector
    %diagonal = affine.load %L[%i, %i] : !matrix
    %quotient = arith.divf %xi, %diagonal : f64
    affine.store %quotient, %x[%i] : !vector
  }
  return
}
