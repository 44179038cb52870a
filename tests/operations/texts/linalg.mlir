// ----- linalg.generic linalg.index linalg.yield
(%a: memref<3x4xf32>, %b: memref<4x3xindex>)
linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<3x4xf32>) outs(%b : memref<4x3xindex>) {
^bb0(%x: f32, %y: index):
  %i = linalg.index 0 : index
  %s = arith.addi %i, %y : index
  linalg.yield %s : index
}

// ----- linalg.fill
(%x: f32, %b: memref<4xf32>)
linalg.fill ins(%x : f32) outs(%b : memref<4xf32>)

// ----- linalg.copy linalg.exp linalg.log linalg.abs linalg.ceil linalg.floor linalg.negf linalg.reciprocal linalg.round linalg.sqrt linalg.rsqrt linalg.square linalg.tanh linalg.erf
(%a: memref<4xf32>, %b: memref<4xf32>)
$op ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)

// ----- linalg.add linalg.sub linalg.mul linalg.div linalg.max linalg.min linalg.powf
(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>)
$op ins(%a, %b : memref<4xf32>, memref<4xf32>) outs(%c : memref<4xf32>)

// ----- linalg.div_unsigned
(%a: memref<4xi32>, %b: memref<4xi32>, %c: memref<4xi32>)
linalg.div_unsigned ins(%a, %b : memref<4xi32>, memref<4xi32>) outs(%c : memref<4xi32>)

// ----- linalg.select
(%p: memref<4xi1>, %a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>)
linalg.select ins(%p, %a, %b : memref<4xi1>, memref<4xf32>, memref<4xf32>) outs(%c : memref<4xf32>)

// ----- linalg.elemwise_unary
(%a: memref<4xf32>, %b: memref<4xf32>)
linalg.elemwise_unary {fun = #linalg.unary_fn<exp>} ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)

// ----- linalg.elemwise_binary
(%a: memref<4xf32>, %b: memref<4xf32>)
linalg.elemwise_binary {fun = #linalg.binary_fn<mul>} ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%b : memref<4xf32>)

// ----- linalg.elementwise
(%a: memref<4xf32>, %b: memref<4xf32>)
linalg.elementwise kind=#linalg.elementwise_kind<square> ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)

// ----- linalg.scaled_contract
(%a: tensor<2x4xf8E5M2>, %s: tensor<1x1xf8E8M0FNU>, %b: tensor<2x4xf8E5M2>, %t: tensor<2xf8E8M0FNU>, %c: tensor<2x2xf32>) -> tensor<2x2xf32>
%r = linalg.scaled_contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (m floordiv 2, k floordiv 4)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %s, %b, %t : tensor<2x4xf8E5M2>, tensor<1x1xf8E8M0FNU>, tensor<2x4xf8E5M2>, tensor<2xf8E8M0FNU>) outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>

// ----- linalg.contract
(%a: memref<3x4xf32>, %b: memref<4xf32>, %c: memref<3xf32>)
linalg.contract indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>] ins(%a, %b : memref<3x4xf32>, memref<4xf32>) outs(%c : memref<3xf32>)

// ----- linalg.map
(%t: tensor<4xf32>, %u: tensor<4xf32>) -> tensor<4xf32>
%r = linalg.map { arith.addf } ins(%t, %u : tensor<4xf32>, tensor<4xf32>) outs(%u : tensor<4xf32>)

// ----- linalg.reduce
(%t: tensor<3x4xf32>, %u: tensor<4xf32>) -> tensor<4xf32>
%r = linalg.reduce { arith.addf } ins(%t : tensor<3x4xf32>) outs(%u : tensor<4xf32>) dimensions = [0]

// ----- linalg.transpose
(%t: tensor<3x4xf32>, %u: tensor<4x3xf32>) -> tensor<4x3xf32>
%r = linalg.transpose ins(%t : tensor<3x4xf32>) outs(%u : tensor<4x3xf32>) permutation = [1, 0]

// ----- linalg.broadcast
(%t: tensor<4xf32>, %u: tensor<3x4xf32>) -> tensor<3x4xf32>
%r = linalg.broadcast ins(%t : tensor<4xf32>) outs(%u : tensor<3x4xf32>) dimensions = [0]

// ----- linalg.pack
(%t: tensor<4x4xf32>, %u: tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xf32>
%r = linalg.pack %t inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %u : tensor<4x4xf32> -> tensor<2x2x2x2xf32>

// ----- linalg.unpack
(%t: tensor<2x2x2x2xf32>, %u: tensor<4x4xf32>) -> tensor<4x4xf32>
%r = linalg.unpack %t inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %u : tensor<2x2x2x2xf32> -> tensor<4x4xf32>

// ----- linalg.softmax
(%t: tensor<3x4xf32>, %u: tensor<3x4xf32>) -> tensor<3x4xf32>
%r = linalg.softmax dimension(1) ins(%t : tensor<3x4xf32>) outs(%u : tensor<3x4xf32>) -> tensor<3x4xf32>

// ----- linalg.winograd_filter_transform
(%t: tensor<2x3x3x2xf32>, %u: tensor<4x4x2x2xf32>) -> tensor<4x4x2x2xf32>
%r = linalg.winograd_filter_transform fmr(F_2_3) ins(%t : tensor<2x3x3x2xf32>) outs(%u : tensor<4x4x2x2xf32>) -> tensor<4x4x2x2xf32>

// ----- linalg.winograd_input_transform
(%t: tensor<1x4x4x2xf32>, %u: tensor<4x4x1x1x1x2xf32>) -> tensor<4x4x1x1x1x2xf32>
%r = linalg.winograd_input_transform fmr(F_2_3) ins(%t : tensor<1x4x4x2xf32>) outs(%u : tensor<4x4x1x1x1x2xf32>) -> tensor<4x4x1x1x1x2xf32>

// ----- linalg.winograd_output_transform
(%t: tensor<4x4x1x1x1x2xf32>, %u: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
%r = linalg.winograd_output_transform fmr(F_2_3) ins(%t : tensor<4x4x1x1x1x2xf32>) outs(%u : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>

// ----- linalg.range linalg.slice
(%a: memref<4x4xf32>, %b: memref<2xf32>)
%zero = arith.constant 0 : index
%two = arith.constant 2 : index
%one = arith.constant 1 : index
%r = linalg.range %zero : %two : %one : !linalg.range
%m = linalg.slice %a[%one, %r] : memref<4x4xf32>, index, !linalg.range, memref<?xf32, strided<[1], offset: ?>>
affine.for %i = 0 to 2 {
  %x = affine.load %m[%i] : memref<?xf32, strided<[1], offset: ?>>
  affine.store %x, %b[%i] : memref<2xf32>
}

// ----- linalg.buffer_alloc linalg.buffer_dealloc linalg.buffer_size linalg.view linalg.load linalg.store
(%x: f32) -> f32
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%b = linalg.buffer_alloc() : !linalg.buffer<4xf32>
%n = linalg.buffer_size %b : !linalg.buffer<4xf32>
%e = linalg.range %zero : %n : %one : !linalg.range
%v = linalg.view %b[%e] : !linalg.buffer<4xf32> -> !linalg.view<?xf32>
linalg.store %x, %v[%one] : !linalg.view<?xf32>
%r = linalg.load %v[%one] : !linalg.view<?xf32>
linalg.buffer_dealloc %b : !linalg.buffer<4xf32>

// ----- linalg.base_view linalg.subview
(%x: f32) -> f32
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%four = arith.constant 4 : index
%b = linalg.buffer_alloc() : !linalg.buffer<4xf32>
%e = linalg.range %zero : %four : %one : !linalg.range
%v = linalg.base_view %b[%e] : !linalg.buffer<4xf32> -> !linalg.view<?xf32>
%w = linalg.subview %v[%one, %four, %one] : !linalg.view<?xf32>
linalg.store %x, %w[%zero] : !linalg.view<?xf32>
%r = linalg.load %v[%one] : !linalg.view<?xf32>
linalg.buffer_dealloc %b : !linalg.buffer<4xf32>

// ----- linalg.conv
(%f: memref<2x2x1x1xf32>, %i: memref<1x4x4x1xf32>, %o: memref<1x3x3x1xf32>)
linalg.conv(%f, %i, %o) {strides = [1, 1]} : memref<2x2x1x1xf32>, memref<1x4x4x1xf32>, memref<1x3x3x1xf32>

// ----- linalg.pooling_max linalg.pooling_min linalg.pooling_sum
(%i: memref<4x4xf32>, %f: memref<2x2xf32>, %o: memref<3x3xf32>)
$op(%i, %f, %o) {strides = [1, 1]} : memref<4x4xf32>, memref<2x2xf32>, memref<3x3xf32>

// ----- linalg.tiled_loop
(%a: memref<4xf32>, %b: memref<4xf32>)
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%four = arith.constant 4 : index
linalg.tiled_loop (%i) = (%zero) to (%four) step (%one) ins (%p = %a: memref<4xf32>) outs (%q = %b: memref<4xf32>) {
  %x = memref.load %p[%i] : memref<4xf32>
  memref.store %x, %q[%i] : memref<4xf32>
  linalg.yield
}
