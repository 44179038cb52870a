// A dense layer of a network: Y = max(X * W + bias, 0), as three operations on tensors.
// Bias and maximum are computed on the register tiles of the product.
func.func @dense_layer(%X: tensor<?x?xf32>, %W: tensor<?x?xf32>, %bias: tensor<?xf32>)
    -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %M = tensor.dim %X, %c0 : tensor<?x?xf32>
  %N = tensor.dim %W, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%M, %N) : tensor<?x?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %sums = linalg.matmul ins(%X, %W : tensor<?x?xf32>, tensor<?x?xf32>)
                        outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  %Y = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%sums, %bias : tensor<?x?xf32>, tensor<?xf32>) outs(%empty : tensor<?x?xf32>) {
  ^bb0(%sum: f32, %b: f32, %old: f32):
    %shifted = arith.addf %sum, %b : f32
    %positive = arith.maximumf %shifted, %zero : f32
    linalg.yield %positive : f32
  } -> tensor<?x?xf32>
  return %Y : tensor<?x?xf32>
}
