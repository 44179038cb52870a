// The two products of a BiCG step in one sweep over A: s = A' r and q = A p.
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @bicg(%A: !matrix, %s: !vector, %q: !vector, %p: !vector, %r: !vector) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = memref.dim %A, %c0 : !matrix
  %M = memref.dim %A, %c1 : !matrix
  %zero = arith.constant 0.0 : f64
  affine.for %j = 0 to %M {
    affine.store %zero, %s[%j] : !vector
  }
  affine.for %i = 0 to %N {
    affine.store %zero, %q[%i] : !vector
    affine.for %j = 0 to %M {
      %a = affine.load %A[%i, %j] : !matrix
      %ri = affine.load %r[%i] : !vector
      %sj = affine.load %s[%j] : !vector
      %down = arith.mulf %ri, %a : f64
      %s_next = arith.addf %sj, %down : f64
      affine.store %s_next, %s[%j] : !vector
      %pj = affine.load %p[%j] : !vector
      %qi = affine.load %q[%i] : !vector
      %across = arith.mulf %a, %pj : f64
      %q_next = arith.addf %qi, %across : f64
      affine.store %q_next, %q[%i] : !vector
    }
  }
  return
}
