func.func private @matmul_k0(%A: memref<64x777xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %n: index) attributes {gcg.kernel = "cpu"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %N = memref.dim %B, %c1 : memref<?x?xf32>
  affine.parallel (%i, %j) = (0, 0) to (64, symbol(%N)) {
    %s = affine.for %k = 0 to 777 iter_args(%acc = %zero) -> (f32) {
      %a = affine.load %A[%i, %k] : memref<64x777xf32>
      %b = affine.load %B[%k, %j] : memref<?x?xf32>
      %p = arith.mulf %a, %b : f32
      %t = arith.addf %acc, %p : f32
      affine.yield %t : f32
    }
    affine.store %s, %C[%i, %j] : memref<?x?xf32>
  }
  return
}
func.func @matmul(%A: memref<64x777xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %B, %c1 : memref<?x?xf32>
  call @matmul_k0(%A, %B, %C, %n) : (memref<64x777xf32>, memref<?x?xf32>, memref<?x?xf32>, index) -> ()
  return
}
