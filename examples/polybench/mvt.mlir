// A matrix-vector product and a transposed one: x1 = x1 + A y1, x2 = x2 + A' y2.
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @mvt(%x1: !vector, %x2: !vector, %y1: !vector, %y2: !vector, %A: !matrix) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !matrix
  affine.for %i = 0 to %N {
    affine.for %j = 0 to %N {
      %x = affine.load %x1[%i] : !vector
      %a = affine.load %A[%i, %j] : !matrix
      %y = affine.load %y1[%j] : !vector
      %product = arith.mulf %a, %y : f64
      %next = arith.addf %x, %product : f64
      affine.store %next, %x1[%i] : !vector
    }
  }
  affine.for %i = 0 to %N {
    affine.for %j = 0 to %N {
      %x = affine.load %x2[%i] : !vector
      %a = affine.load %A[%j, %i] : !matrix
      %y = affine.load %y2[%j] : !vector
      %product = arith.mulf %a, %y : f64
      %next = arith.addf %x, %product : f64
      affine.store %next, %x2[%i] : !vector
    }
  }
  return
}
