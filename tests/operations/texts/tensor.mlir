// ----- tensor.empty tensor.insert
(%x: f32) -> tensor<1xf32>
%zero = arith.constant 0 : index
%e = tensor.empty() : tensor<1xf32>
%r = tensor.insert %x into %e[%zero] : tensor<1xf32>

// ----- tensor.extract
(%t: tensor<4xf32>, %n: index) -> f32
%r = tensor.extract %t[%n] : tensor<4xf32>

// ----- tensor.dim
(%t: tensor<?xf32>) -> index
%zero = arith.constant 0 : index
%r = tensor.dim %t, %zero : tensor<?xf32>

// ----- tensor.rank
(%t: tensor<?x?xf32>) -> index
%r = tensor.rank %t : tensor<?x?xf32>

// ----- tensor.cast
(%t: tensor<?xf32>) -> tensor<4xf32>
%r = tensor.cast %t : tensor<?xf32> to tensor<4xf32>

// ----- tensor.bitcast
(%t: tensor<4xf32>) -> tensor<4xi32>
%r = tensor.bitcast %t : tensor<4xf32> to tensor<4xi32>

// ----- tensor.from_elements
(%x: f32, %y: f32) -> tensor<2xf32>
%r = tensor.from_elements %x, %y : tensor<2xf32>

// ----- tensor.splat
(%x: f32) -> tensor<4xf32>
%r = tensor.splat %x : tensor<4xf32>

// ----- tensor.generate tensor.yield
(%n: index) -> tensor<?xindex>
%r = tensor.generate %n {
^bb0(%i: index):
  %x = arith.muli %i, %i : index
  tensor.yield %x : index
} : tensor<?xindex>

// ----- tensor.pad
(%t: tensor<2x3xf32>, %x: f32) -> tensor<3x5xf32>
%r = tensor.pad %t low[1, 0] high[0, 2] {
^bb0(%i: index, %j: index):
  tensor.yield %x : f32
} : tensor<2x3xf32> to tensor<3x5xf32>

// ----- tensor.extract_slice
(%t: tensor<4x4xf32>, %n: index) -> tensor<2x2xf32>
%r = tensor.extract_slice %t[%n, 0] [2, 2] [1, 2] : tensor<4x4xf32> to tensor<2x2xf32>

// ----- tensor.insert_slice
(%t: tensor<4x4xf32>, %s: tensor<2x2xf32>, %n: index) -> tensor<4x4xf32>
%r = tensor.insert_slice %s into %t[%n, 0] [2, 2] [1, 2] : tensor<2x2xf32> into tensor<4x4xf32>

// ----- tensor.parallel_insert_slice
(%t: tensor<4xf32>) -> tensor<4xf32>
%r = scf.forall (%i) in (4) shared_outs(%o = %t) -> tensor<4xf32> {
  %x = tensor.extract_slice %t[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
  %y = arith.addf %x, %x : tensor<1xf32>
  scf.forall.in_parallel {
    tensor.parallel_insert_slice %y into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
  }
}

// ----- tensor.expand_shape
(%t: tensor<4xf32>) -> tensor<2x2xf32>
%r = tensor.expand_shape %t [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>

// ----- tensor.collapse_shape
(%t: tensor<2x2xf32>) -> tensor<4xf32>
%r = tensor.collapse_shape %t [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>

// ----- tensor.reshape
(%t: tensor<4xf32>) -> tensor<2x2xf32>
%s = arith.constant dense<[2, 2]> : tensor<2xindex>
%r = tensor.reshape %t(%s) : (tensor<4xf32>, tensor<2xindex>) -> tensor<2x2xf32>

// ----- tensor.concat
(%t: tensor<2xf32>, %u: tensor<3xf32>) -> tensor<5xf32>
%r = tensor.concat dim(0) %t, %u : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>

// ----- tensor.gather
(%t: tensor<4x3xf32>, %at: tensor<2x1xindex>) -> tensor<2x1x3xf32>
%r = tensor.gather %t[%at] gather_dims([0]) : (tensor<4x3xf32>, tensor<2x1xindex>) -> tensor<2x1x3xf32>

// ----- tensor.scatter
(%t: tensor<4x3xf32>, %s: tensor<2x1x3xf32>, %at: tensor<2x1xindex>) -> tensor<4x3xf32>
%r = tensor.scatter %s into %t[%at] scatter_dims([0]) unique : (tensor<2x1x3xf32>, tensor<4x3xf32>, tensor<2x1xindex>) -> tensor<4x3xf32>
