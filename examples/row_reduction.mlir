// The sum of every row, carried in a register.
func.func @row_sum(%A: memref<?x?xf32>, %S: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %M = memref.dim %A, %c0 : memref<?x?xf32>
  %N = memref.dim %A, %c1 : memref<?x?xf32>
  affine.for %i = 0 to %M {
    %total = affine.for %j = 0 to %N iter_args(%sum = %zero) -> (f32) {
      %a = affine.load %A[%i, %j] : memref<?x?xf32>
      %next = arith.addf %sum, %a : f32
      affine.yield %next : f32
    }
    affine.store %total, %S[%i] : memref<?xf32>
  }
  return
}
