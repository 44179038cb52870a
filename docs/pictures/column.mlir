func.func @column(%A: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : memref<?x?xf32>
  affine.for %i = 1 to %N {
    affine.for %j = 0 to %N {
      %x = affine.load %A[%i - 1, %j] : memref<?x?xf32>
      affine.store %x, %A[%i, %j] : memref<?x?xf32>
    }
  }
  return
}
