// ----- stablehlo.abs stablehlo.cbrt stablehlo.ceil stablehlo.cosine stablehlo.exponential stablehlo.exponential_minus_one stablehlo.floor stablehlo.log stablehlo.log_plus_one stablehlo.logistic stablehlo.negate stablehlo.optimization_barrier stablehlo.round_nearest_afz stablehlo.round_nearest_even stablehlo.rsqrt stablehlo.sign stablehlo.sine stablehlo.sqrt stablehlo.tan stablehlo.tanh
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = $op %x : tensor<4xf32>

// ----- stablehlo.count_leading_zeros stablehlo.not stablehlo.popcnt
(%x: tensor<4xi32>) -> tensor<4xi32>
%r = $op %x : tensor<4xi32>

// ----- stablehlo.convert
(%x: tensor<4xf32>) -> tensor<4xi32>
%r = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>

// ----- stablehlo.bitcast_convert
(%x: tensor<4xf32>) -> tensor<4xi32>
%r = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi32>

// ----- stablehlo.is_finite
(%x: tensor<4xf32>) -> tensor<4xi1>
%r = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>

// ----- stablehlo.real stablehlo.imag
(%x: tensor<4xcomplex<f32>>) -> tensor<4xf32>
%r = $op %x : (tensor<4xcomplex<f32>>) -> tensor<4xf32>

// ----- stablehlo.complex
(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xcomplex<f32>>
%r = stablehlo.complex %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>

// ----- stablehlo.add stablehlo.atan2 stablehlo.divide stablehlo.maximum stablehlo.minimum stablehlo.multiply stablehlo.power stablehlo.remainder stablehlo.subtract
(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
%r = $op %x, %y : tensor<4xf32>

// ----- stablehlo.and stablehlo.or stablehlo.xor stablehlo.shift_left stablehlo.shift_right_arithmetic stablehlo.shift_right_logical
(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32>
%r = $op %x, %y : tensor<4xi32>

// ----- stablehlo.reshape
(%x: tensor<4xf32>) -> tensor<2x2xf32>
%r = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>

// ----- stablehlo.dynamic_update_slice
(%x: tensor<6xf32>, %y: tensor<2xf32>, %i: tensor<i32>) -> tensor<6xf32>
%r = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<6xf32>, tensor<2xf32>, tensor<i32>) -> tensor<6xf32>

// ----- stablehlo.dynamic_slice
(%x: tensor<6xf32>, %i: tensor<i32>) -> tensor<2xf32>
%r = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<6xf32>, tensor<i32>) -> tensor<2xf32>

// ----- stablehlo.clamp
(%x: tensor<4xf32>, %l: tensor<f32>, %h: tensor<f32>) -> tensor<4xf32>
%r = stablehlo.clamp %l, %x, %h : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>

// ----- stablehlo.compare
(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1>
%r = stablehlo.compare LT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>

// ----- stablehlo.select
(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
%r = stablehlo.select %c, %x, %y : tensor<4xi1>, tensor<4xf32>

// ----- stablehlo.constant stablehlo.broadcast_in_dim
(%x: tensor<4xf32>) -> tensor<4xf32>
%c = stablehlo.constant dense<2.0> : tensor<f32>
%b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4xf32>
%r = stablehlo.multiply %x, %b : tensor<4xf32>

// ----- stablehlo.iota
() -> tensor<2x3xi32>
%r = stablehlo.iota dim = 1 : tensor<2x3xi32>

// ----- stablehlo.transpose
(%x: tensor<2x3xf32>) -> tensor<3x2xf32>
%r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>

// ----- stablehlo.reverse
(%x: tensor<2x3xf32>) -> tensor<2x3xf32>
%r = stablehlo.reverse %x, dims = [1] : tensor<2x3xf32>

// ----- stablehlo.slice
(%x: tensor<6xf32>) -> tensor<2xf32>
%r = stablehlo.slice %x [1:5:2] : (tensor<6xf32>) -> tensor<2xf32>

// ----- stablehlo.concatenate
(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32>
%r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>

// ----- stablehlo.pad
(%x: tensor<3xf32>, %p: tensor<f32>) -> tensor<7xf32>
%r = stablehlo.pad %x, %p, low = [1], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>

// ----- stablehlo.gather
(%x: tensor<4x3xf32>, %i: tensor<2x1xi32>) -> tensor<2x3xf32>
%r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>

// ----- stablehlo.dot
(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32>
%r = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>

// ----- stablehlo.dot_general
(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32>
%r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>

// ----- stablehlo.convolution
(%x: tensor<1x4x4x2xf32>, %k: tensor<2x2x2x3xf32>) -> tensor<1x3x3x3xf32>
%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<2x2x2x3xf32>) -> tensor<1x3x3x3xf32>

// ----- stablehlo.reduce
(%x: tensor<3x4xf32>) -> tensor<3xf32>
%z = stablehlo.constant dense<0.0> : tensor<f32>
%r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>

// ----- stablehlo.reduce_window stablehlo.return
(%x: tensor<6xf32>) -> tensor<3xf32>
%z = stablehlo.constant dense<0.0> : tensor<f32>
%r = "stablehlo.reduce_window"(%x, %z) <{base_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %m = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %m : tensor<f32>
}) : (tensor<6xf32>, tensor<f32>) -> tensor<3xf32>

// ----- stablehlo.while
(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32>
%one = stablehlo.constant dense<1> : tensor<i32>
%end = stablehlo.constant dense<5> : tensor<i32>
%i, %r = stablehlo.while(%j = %n, %y = %x) : tensor<i32>, tensor<4xf32> cond {
  %c = stablehlo.compare LT, %j, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
} do {
  %k = stablehlo.add %j, %one : tensor<i32>
  %z = stablehlo.add %y, %x : tensor<4xf32>
  stablehlo.return %k, %z : tensor<i32>, tensor<4xf32>
}

// ----- stablehlo.if
(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32>
%r = "stablehlo.if"(%c) ({
  %y = stablehlo.add %x, %x : tensor<4xf32>
  stablehlo.return %y : tensor<4xf32>
}, {
  %y = stablehlo.multiply %x, %x : tensor<4xf32>
  stablehlo.return %y : tensor<4xf32>
}) : (tensor<i1>) -> tensor<4xf32>

// ----- stablehlo.case
(%c: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32>
%r = "stablehlo.case"(%c) ({
  %y = stablehlo.add %x, %x : tensor<4xf32>
  stablehlo.return %y : tensor<4xf32>
}, {
  %y = stablehlo.multiply %x, %x : tensor<4xf32>
  stablehlo.return %y : tensor<4xf32>
}, {
  stablehlo.return %x : tensor<4xf32>
}) : (tensor<i32>) -> tensor<4xf32>

// ----- stablehlo.all_gather stablehlo.all_reduce stablehlo.all_to_all stablehlo.collective_permute stablehlo.reduce_scatter stablehlo.partition_id stablehlo.replica_id stablehlo.rng stablehlo.rng_bit_generator stablehlo.batch_norm_training stablehlo.batch_norm_grad stablehlo.dynamic_reshape stablehlo.dynamic_broadcast_in_dim stablehlo.dynamic_iota stablehlo.dynamic_pad stablehlo.dynamic_gather stablehlo.dynamic_conv stablehlo.get_dimension_size stablehlo.set_dimension_size stablehlo.uniform_quantize stablehlo.uniform_dequantize stablehlo.infeed stablehlo.outfeed stablehlo.send stablehlo.recv
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = "$op"(%x) : (tensor<4xf32>) -> tensor<4xf32>

// ----- stablehlo.sort
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}) : (tensor<4xf32>) -> tensor<4xf32>

// ----- stablehlo.scatter
(%x: tensor<3x2xf32>, %y: tensor<4x2xf32>) -> tensor<3x2xf32>
%i = stablehlo.constant dense<[[2], [9], [0], [2]]> : tensor<4x1xi32>
%r = "stablehlo.scatter"(%x, %i, %y) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<3x2xf32>, tensor<4x1xi32>, tensor<4x2xf32>) -> tensor<3x2xf32>

// ----- stablehlo.select_and_scatter
(%x: tensor<6xf32>, %y: tensor<3xf32>) -> tensor<6xf32>
%z = stablehlo.constant dense<0.0> : tensor<f32>
%r = "stablehlo.select_and_scatter"(%x, %y, %z) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<6xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>

// ----- stablehlo.reduce_precision
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = stablehlo.reduce_precision %x, format = e5m4 : tensor<4xf32>

// ----- stablehlo.fft
(%x: tensor<4xf32>) -> tensor<3xcomplex<f32>>
%r = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>

// ----- stablehlo.cholesky
(%x: tensor<2x2xf64>) -> tensor<2x2xf64>
%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2xf64>) -> tensor<2x2xf64>
%p = stablehlo.dot %x, %t : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
%i = stablehlo.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf64>
%q = stablehlo.add %p, %i : tensor<2x2xf64>
%r = stablehlo.cholesky %q, lower = true : tensor<2x2xf64>

// ----- stablehlo.triangular_solve
(%x: tensor<3x3xf32>, %y: tensor<3x2xf32>) -> tensor<3x2xf32>
%r = "stablehlo.triangular_solve"(%x, %y) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>

// ----- stablehlo.custom_call
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<4xf32>
