// Every operation of tensor and bufferization, as MLIR writes it late in 2026.
func.func @operations(
    %t: tensor<?x?xf32>, %s: tensor<8x16xf32>, %n: index, %f: f32, %i: tensor<2x1xindex>, %x: tensor<f32>,
    %shp: tensor<1xindex>, %m: memref<4xf32>, %c: i1, %e: tensor<4xf32>, %g: tensor<2x1x16xf32>, %q: tensor<4x4xf32>) {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = tensor.empty(%n, %n) : tensor<?x?xf32>
  %2 = tensor.extract %t[%n, %n] : tensor<?x?xf32>
  %3 = tensor.insert %f into %t[%n, %n] : tensor<?x?xf32>
  %4 = tensor.dim %t, %n : tensor<?x?xf32>
  %5 = tensor.rank %t : tensor<?x?xf32>
  %6 = tensor.cast %t : tensor<?x?xf32> to tensor<4x?xf32>
  %7 = tensor.cast %t : tensor<?x?xf32> to tensor<*xf32>
  %8 = tensor.from_elements %f, %f : tensor<2xf32>
  %9 = tensor.from_elements %f : tensor<f32>
  %10 = tensor.splat %f : tensor<4xf32>
  %11 = tensor.splat %f[%n] : tensor<?x4xf32>
  %12 = tensor.generate %n {
  ^bb0(%i0: index):
    tensor.yield %f : f32
  } : tensor<?xf32>
  %13 = tensor.pad %s low[0, 1] high[%n, 2] {
  ^bb0(%a: index, %b: index):
    tensor.yield %f : f32
  } : tensor<8x16xf32> to tensor<?x19xf32>
  %14 = tensor.pad %s nofold low[0, %n] high[0, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %f : f32
  } {foo} : tensor<8x16xf32> to tensor<8x?xf32>
  %15 = tensor.extract_slice %s[0, %n] [4, 4] [1, 2] : tensor<8x16xf32> to tensor<4x4xf32>
  %16 = tensor.extract_slice %s[0, 0] [1, 4] [1, 1] : tensor<8x16xf32> to tensor<4xf32>
  %17 = tensor.insert_slice %q into %s[%n, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<8x16xf32>
  %18 = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xf32> into tensor<2x4x16xf32>
  %19 = tensor.collapse_shape %s [[0, 1]] : tensor<8x16xf32> into tensor<128xf32>
  %20 = tensor.expand_shape %x [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %21 = tensor.reshape %t(%shp) : (tensor<?x?xf32>, tensor<1xindex>) -> tensor<?xf32>
  %22 = tensor.gather %s[%i] gather_dims([0]) : (tensor<8x16xf32>, tensor<2x1xindex>) -> tensor<2x1x16xf32>
  %23 = tensor.gather %s[%i] gather_dims([0]) unique : (tensor<8x16xf32>, tensor<2x1xindex>) -> tensor<2x1x16xf32>
  %24 = tensor.scatter %g into %s[%i] scatter_dims([0]) unique : (tensor<2x1x16xf32>, tensor<8x16xf32>, tensor<2x1xindex>) -> tensor<8x16xf32>
  %25 = tensor.concat dim(0) %s, %s : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %26 = tensor.bitcast %s : tensor<8x16xf32> to tensor<8x16xi32>
  %27 = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>
  %28 = bufferization.to_tensor %m restrict writable : memref<4xf32> to tensor<4xf32>
  %29 = bufferization.to_buffer %e : tensor<4xf32> to memref<4xf32>
  %30 = bufferization.to_buffer %e read_only : tensor<4xf32> to memref<4xf32>
  %31 = bufferization.alloc_tensor() : tensor<4xf32>
  %32 = bufferization.alloc_tensor(%n) <{memory_space = 1 : i64}> : tensor<?xf32>
  %33 = bufferization.alloc_tensor() copy(%s) : tensor<8x16xf32>
  %34 = bufferization.alloc_tensor(%n) size_hint=%n : tensor<?xf32>
  bufferization.dealloc_tensor %e : tensor<4xf32>
  %35 = bufferization.clone %m : memref<4xf32> to memref<4xf32>
  %36 = bufferization.materialize_in_destination %e in %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %e in restrict writable %m : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.dealloc (%m : memref<4xf32>) if (%c)
  %37:2 = bufferization.dealloc (%m, %m : memref<4xf32>, memref<4xf32>) if (%c, %c) retain (%m, %m : memref<4xf32>, memref<4xf32>)
  return
}
