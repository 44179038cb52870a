#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#trait = {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"], doc = "row sums"}
func.func @buffers(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %r: memref<?xf32>, %z: f32) {
  linalg.fill ins(%z : f32) outs(%C : memref<?x?xf32>)
  linalg.matmul ins(%A, %B : memref<?x?xf32>, memref<?x?xf32>) outs(%C : memref<?x?xf32>)
  linalg.matmul {tag = 1 : i64} ins(%A, %B : memref<?x?xf32>, memref<?x?xf32>) outs(%C : memref<?x?xf32>)
  linalg.copy ins(%A : memref<?x?xf32>) outs(%B : memref<?x?xf32>)
  linalg.add ins(%A, %B : memref<?x?xf32>, memref<?x?xf32>) outs(%C : memref<?x?xf32>)
  linalg.matvec ins(%A, %r : memref<?x?xf32>, memref<?xf32>) outs(%r : memref<?xf32>)
  linalg.generic #trait ins(%A : memref<?x?xf32>) outs(%r : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%A : memref<?x?xf32>) attrs = {name = "x"} {
  ^bb0(%out: f32):
    linalg.yield %z : f32
  }
  return
}
func.func @tensors(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>, %z: f32) -> tensor<4x16xf32> {
  %0 = tensor.empty() : tensor<4x16xf32>
  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%1 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<4x16xf32>) outs(%c : tensor<4x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %4 = arith.maximumf %in, %z : f32
    linalg.yield %4 : f32
  } -> tensor<4x16xf32>
  %5 = linalg.map { arith.addf } ins(%2, %3 : tensor<4x16xf32>, tensor<4x16xf32>) outs(%0 : tensor<4x16xf32>)
  %e = tensor.empty() : tensor<16xf32>
  %6 = linalg.reduce { arith.addf } ins(%5 : tensor<4x16xf32>) outs(%e : tensor<16xf32>) dimensions = [0]
  %7 = tensor.empty() : tensor<16x4xf32>
  %8 = linalg.transpose ins(%5 : tensor<4x16xf32>) outs(%7 : tensor<16x4xf32>) permutation = [1, 0]
  %9 = linalg.broadcast ins(%6 : tensor<16xf32>) outs(%0 : tensor<4x16xf32>) dimensions = [0]
  %c0 = arith.constant 0 : index
  %10 = tensor.extract %9[%c0, %c0] : tensor<4x16xf32>
  %11 = tensor.insert %10 into %9[%c0, %c0] : tensor<4x16xf32>
  %12 = tensor.extract_slice %11[0, %c0] [2, 4] [1, 1] : tensor<4x16xf32> to tensor<2x4xf32>
  %13 = tensor.insert_slice %12 into %11[0, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<4x16xf32>
  %14 = tensor.cast %13 : tensor<4x16xf32> to tensor<?x16xf32>
  %15 = tensor.dim %14, %c0 : tensor<?x16xf32>
  %16 = tensor.from_elements %z, %z : tensor<2xf32>
  %17 = tensor.pad %12 low[1, %c0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<2x4xf32> to tensor<3x?xf32>
  %18 = tensor.generate %c0 {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<?xf32>
  %m = bufferization.to_buffer %13 : tensor<4x16xf32> to memref<4x16xf32>
  %t = bufferization.to_tensor %m restrict writable : memref<4x16xf32> to tensor<4x16xf32>
  %19 = bufferization.alloc_tensor() copy(%t) : tensor<4x16xf32>
  %20 = tensor.collapse_shape %19 [[0, 1]] : tensor<4x16xf32> into tensor<64xf32>
  return %t : tensor<4x16xf32>
}
func.func @convolutions(%i: memref<1x?x?x3xf32>, %f: memref<3x3x3x8xf32>, %o: memref<1x?x?x8xf32>, %w: memref<3x3xf32>, %p: memref<1x?x?x3xf32>) {
  linalg.conv_2d_nhwc_hwcf {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%i, %f : memref<1x?x?x3xf32>, memref<3x3x3x8xf32>) outs(%o : memref<1x?x?x8xf32>)
  linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%i, %w : memref<1x?x?x3xf32>, memref<3x3xf32>) outs(%p : memref<1x?x?x3xf32>)
  return
}
