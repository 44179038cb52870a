func.func @transpose(%A: memref<8x12xf32>, %B: memref<12x8xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 12 {
      %x = affine.load %A[%i, %j] : memref<8x12xf32>
      affine.store %x, %B[%j, %i] : memref<12x8xf32>
    }
  }
  return
}
