func.func @f1(%t: tensor<4x?xf32>, %u: tensor<*xf32>, %n: index, %f: f32, %i8: tensor<4xi32>) {
  %0 = tensor.bitcast %i8 : tensor<4xi32> to tensor<4xf32>
  %1 = tensor.cast %t : tensor<4x?xf32> to tensor<?x?xf32>
  %2 = tensor.cast %t {foo} : tensor<4x?xf32> to tensor<*xf32>
  %3 = tensor.cast %u : tensor<*xf32> to tensor<4x4xf32>
  %c0 = arith.constant 0 : index
  %4 = tensor.dim %t, %c0 : tensor<4x?xf32>
  %5 = tensor.dim %u, %c0 : tensor<*xf32>
  %6 = tensor.rank %t : tensor<4x?xf32>
  %7 = tensor.rank %u {foo} : tensor<*xf32>
  %8 = tensor.empty() : tensor<4xf32>
  %9 = tensor.empty(%n) : tensor<4x?xf32>
  %10 = tensor.empty(%n, %n) {foo} : tensor<?x?xf32, "enc">
  %11 = tensor.extract %t[%n, %n] : tensor<4x?xf32>
  %12 = tensor.insert %f into %t[%n, %n] : tensor<4x?xf32>
  %13 = tensor.insert %f into %t[%n, %n] {foo} : tensor<4x?xf32>
  %14 = tensor.extract %t[%n, %n] {foo} : tensor<4x?xf32>
  %15 = tensor.empty() : tensor<f32>
  %16 = tensor.extract %15[] : tensor<f32>
  %17 = tensor.insert %f into %15[] : tensor<f32>
  return
}
func.func @f2(%a: index, %b: f32) {
  %0 = tensor.from_elements %a, %a : tensor<2xindex>
  %1 = tensor.from_elements %b : tensor<f32>
  %2 = tensor.from_elements %b, %b, %b, %b {foo} : tensor<2x2xf32>
  %3 = tensor.from_elements : tensor<0xf32>
  %4 = tensor.splat %b : tensor<4xf32>
  %5 = tensor.splat %b[%a, %a] : tensor<?x20x?xf32>
  %6 = tensor.splat %a {foo} : tensor<4xindex>
  %7 = tensor.splat %b : tensor<f32>
  return
}
func.func @f3(%m: index, %n: index, %v: f32) {
  %0 = tensor.generate %m, %n {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %v : f32
  } : tensor<?x3x?xf32>
  %1 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c = arith.addi %i, %j : index
    tensor.yield %c : index
  } {foo} : tensor<4x4xindex>
  %2 = tensor.generate {
    tensor.yield %v : f32
  } : tensor<f32>
  return
}
func.func @f4(%t: tensor<4x?xf32>, %n: index, %v: f32) {
  %0 = tensor.pad %t low[1, 2] high[2, 3] {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } : tensor<4x?xf32> to tensor<7x?xf32>
  %1 = tensor.pad %t low[%n, 2] high[2, %n] {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } : tensor<4x?xf32> to tensor<?x?xf32>
  %2 = tensor.pad %t nofold low[0, 0] high[0, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } : tensor<4x?xf32> to tensor<4x?xf32>
  %3 = tensor.pad %t nofold low[0, 0] high[0, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %v : f32
  } {foo} : tensor<4x?xf32> to tensor<4x?xf32>
  %4 = tensor.pad %t low[0, %n] high[%n, %n] {
  ^bb0(%a: index, %b: index):
    %c = tensor.extract %t[%a, %b] : tensor<4x?xf32>
    tensor.yield %c : f32
  } : tensor<4x?xf32> to tensor<?x?xf32>
  return
}
func.func @f5(%t: tensor<4x?xf32>, %u: tensor<*xf32>, %s: tensor<1xi32>, %d: tensor<?xindex>, %s2: tensor<2xindex>) {
  %0 = tensor.reshape %t(%s) : (tensor<4x?xf32>, tensor<1xi32>) -> tensor<?xf32>
  %1 = tensor.reshape %t(%d) : (tensor<4x?xf32>, tensor<?xindex>) -> tensor<*xf32>
  %2 = tensor.reshape %u(%s2) {foo} : (tensor<*xf32>, tensor<2xindex>) -> tensor<?x4xf32>
  return
}
func.func @f6(%t: tensor<?x?x4x8xf32>, %b: tensor<1x1xf32>, %z: tensor<f32>, %i: index, %q: tensor<?xf32>) {
  %0 = tensor.collapse_shape %t [[0, 1], [2, 3]] : tensor<?x?x4x8xf32> into tensor<?x32xf32>
  %1 = tensor.collapse_shape %b [] : tensor<1x1xf32> into tensor<f32>
  %2 = tensor.expand_shape %z [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %3 = tensor.expand_shape %q [[0, 1]] output_shape [%i, 4] : tensor<?xf32> into tensor<?x4xf32>
  %4 = tensor.expand_shape %q [[0, 1, 2]] output_shape [%i, 4, %i] {foo} : tensor<?xf32> into tensor<?x4x?xf32>
  %5 = tensor.collapse_shape %b [[0, 1]] {foo} : tensor<1x1xf32> into tensor<1xf32>
  return
}
func.func @f7(%t: tensor<8x16x4xf32>, %i: index, %s: tensor<4x4xf32>, %d: tensor<?x?xf32>) {
  %0 = tensor.extract_slice %t[0, 2, 0] [1, 6, 1] [1, 1, 1] : tensor<8x16x4xf32> to tensor<6xf32>
  %1 = tensor.extract_slice %t[%i, 2, 0] [1, %i, 1] [1, 1, %i] : tensor<8x16x4xf32> to tensor<1x?x1xf32>
  %2 = tensor.extract_slice %t[%i, 2, 0] [1, %i, 1] [1, 1, %i] {foo} : tensor<8x16x4xf32> to tensor<?xf32>
  %3 = tensor.insert_slice %s into %t[0, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<4x4xf32> into tensor<8x16x4xf32>
  %4 = tensor.insert_slice %d into %t[%i, %i, %i] [%i, 1, %i] [%i, %i, 1] {foo} : tensor<?x?xf32> into tensor<8x16x4xf32>
  %5 = tensor.insert_slice %d into %d[%i, %i] [%i, %i] [1, 1] : tensor<?x?xf32> into tensor<?x?xf32>
  return
}
func.func @f8(%t: tensor<8x16xf32>, %s: tensor<4xf32>, %n: index) -> tensor<8x16xf32> {
  %0 = scf.forall (%i) in (%n) shared_outs(%o = %t) -> (tensor<8x16xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x16xf32>
      tensor.parallel_insert_slice %s into %o[%i, %i] [1, 4] [1, 1] {foo} : tensor<4xf32> into tensor<8x16xf32>
    }
  }
  return %0 : tensor<8x16xf32>
}
func.func @f9(%src: tensor<4x5x6xf32>, %i: tensor<1x2x3xindex>, %j: tensor<1x2x1xi32>, %r: tensor<1x2xf32>) {
  %0 = tensor.gather %src[%i] gather_dims([0, 1, 2]) : (tensor<4x5x6xf32>, tensor<1x2x3xindex>) -> tensor<1x2x1x1x1xf32>
  %1 = tensor.gather %src[%i] gather_dims([0, 1, 2]) unique : (tensor<4x5x6xf32>, tensor<1x2x3xindex>) -> tensor<1x2xf32>
  %2 = tensor.gather %src[%j] gather_dims([1]) unique : (tensor<4x5x6xf32>, tensor<1x2x1xi32>) -> tensor<1x2x4x6xf32>
  %3 = tensor.scatter %0 into %src[%i] scatter_dims([0, 1, 2]) unique : (tensor<1x2x1x1x1xf32>, tensor<4x5x6xf32>, tensor<1x2x3xindex>) -> tensor<4x5x6xf32>
  %4 = tensor.scatter %r into %src[%i] scatter_dims([0, 1, 2]) unique {foo} : (tensor<1x2xf32>, tensor<4x5x6xf32>, tensor<1x2x3xindex>) -> tensor<4x5x6xf32>
  return
}
func.func @f10(%a: tensor<3x?xf32>, %b: tensor<4x?xf32>) {
  %0 = tensor.concat dim(0) %a, %b : (tensor<3x?xf32>, tensor<4x?xf32>) -> tensor<7x?xf32>
  %1 = tensor.concat dim(1) %a : (tensor<3x?xf32>) -> tensor<3x?xf32>
  %2 = tensor.concat dim(0) %a, %b {foo} : (tensor<3x?xf32>, tensor<4x?xf32>) -> tensor<7x10xf32>
  return
}
func.func @f11(%s: tensor<128x256xf32>, %d: tensor<16x8x8x32xf32>, %v: f32) {
  %0 = linalg.pack %s inner_dims_pos = [0, 1] inner_tiles = [8, 32] into %d : tensor<128x256xf32> -> tensor<16x8x8x32xf32>
  %1 = linalg.unpack %0 inner_dims_pos = [0, 1] inner_tiles = [8, 32] into %s : tensor<16x8x8x32xf32> -> tensor<128x256xf32>
  return
}
func.func @f12(%t: tensor<?xf32>, %u: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %0 = tensor.dim %t, %c0 : tensor<?xf32>
  %c4 = arith.constant 4 : index
  %1 = arith.divui %0, %c4 : index
  %2 = tensor.expand_shape %t [[0, 1]] output_shape [%1, 4] : tensor<?xf32> into tensor<?x4xf32>
  %3 = tensor.expand_shape %u [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %c0_0 = arith.constant 0 : index
  %4 = tensor.dim %t, %c0_0 : tensor<?xf32>
  %5 = tensor.expand_shape %t [[0, 1, 2]] output_shape [1, %4, 1] : tensor<?xf32> into tensor<1x?x1xf32>
  return
}
func.func @f13(%t: memref<?xf32>, %u: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %0 = memref.dim %t, %c0 : memref<?xf32>
  %c4 = arith.constant 4 : index
  %1 = arith.divui %0, %c4 : index
  %2 = memref.expand_shape %t [[0, 1]] output_shape [%1, 4] : memref<?xf32> into memref<?x4xf32>
  %3 = memref.expand_shape %u [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  return
}
