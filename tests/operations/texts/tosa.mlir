// ----- tosa.abs tosa.ceil tosa.cos tosa.erf tosa.exp tosa.floor tosa.identity tosa.log tosa.negate tosa.reciprocal tosa.rsqrt tosa.sigmoid tosa.sin tosa.tanh
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = $op %x : (tensor<4xf32>) -> tensor<4xf32>

// ----- tosa.bitwise_not tosa.clz
(%x: tensor<4xi32>) -> tensor<4xi32>
%r = $op %x : (tensor<4xi32>) -> tensor<4xi32>

// ----- tosa.logical_not
(%x: tensor<4xi1>) -> tensor<4xi1>
%r = tosa.logical_not %x : (tensor<4xi1>) -> tensor<4xi1>

// ----- tosa.add tosa.sub tosa.maximum tosa.minimum tosa.pow
(%x: tensor<2x4xf32>, %y: tensor<1x4xf32>) -> tensor<2x4xf32>
%r = $op %x, %y : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>

// ----- tosa.arithmetic_right_shift
(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32>
%r = tosa.arithmetic_right_shift %x, %y {round = false} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>

// ----- tosa.bitwise_and tosa.bitwise_or tosa.bitwise_xor tosa.int_div tosa.intdiv tosa.logical_left_shift tosa.logical_right_shift
(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32>
%r = $op %x, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>

// ----- tosa.logical_and tosa.logical_or tosa.logical_xor
(%x: tensor<4xi1>, %y: tensor<4xi1>) -> tensor<4xi1>
%r = $op %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>

// ----- tosa.mul
(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
%z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
%r = tosa.mul %x, %y, %z : (tensor<4xf32>, tensor<4xf32>, tensor<1xi8>) -> tensor<4xf32>

// ----- tosa.cast
(%x: tensor<4xf32>) -> tensor<4xi32>
%r = tosa.cast %x : (tensor<4xf32>) -> tensor<4xi32>

// ----- tosa.select
(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
%r = tosa.select %c, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// ----- tosa.equal tosa.greater tosa.greater_equal
(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1>
%r = $op %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>

// ----- tosa.clamp
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = tosa.clamp %x {min_val = 0.25 : f32, max_val = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>

// ----- tosa.argmax
(%x: tensor<3x4xf32>) -> tensor<3xi32>
%r = tosa.argmax %x {axis = 1 : i32} : (tensor<3x4xf32>) -> tensor<3xi32>

// ----- tosa.reduce_max tosa.reduce_min tosa.reduce_prod tosa.reduce_product tosa.reduce_sum
(%x: tensor<3x4xf32>) -> tensor<3x1xf32>
%r = $op %x {axis = 1 : i32} : (tensor<3x4xf32>) -> tensor<3x1xf32>

// ----- tosa.reduce_all tosa.reduce_any
(%x: tensor<3x4xi1>) -> tensor<3x1xi1>
%r = $op %x {axis = 1 : i32} : (tensor<3x4xi1>) -> tensor<3x1xi1>

// ----- tosa.avg_pool2d tosa.max_pool2d
(%x: tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
%r = $op %x {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>

// ----- tosa.conv2d
(%x: tensor<1x4x4x2xf32>, %w: tensor<3x2x2x2xf32>, %b: tensor<3xf32>) -> tensor<1x3x3x3xf32>
%r = tosa.conv2d %x, %w, %b {acc_type = f32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>, tensor<3x2x2x2xf32>, tensor<3xf32>) -> tensor<1x3x3x3xf32>

// ----- tosa.conv3d
(%x: tensor<1x3x3x3x2xf32>, %w: tensor<3x2x2x2x2xf32>, %b: tensor<3xf32>) -> tensor<1x2x2x2x3xf32>
%r = tosa.conv3d %x, %w, %b {acc_type = f32, pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>} : (tensor<1x3x3x3x2xf32>, tensor<3x2x2x2x2xf32>, tensor<3xf32>) -> tensor<1x2x2x2x3xf32>

// ----- tosa.depthwise_conv2d
(%x: tensor<1x4x4x2xf32>, %w: tensor<2x2x2x1xf32>, %b: tensor<2xf32>) -> tensor<1x3x3x2xf32>
%r = tosa.depthwise_conv2d %x, %w, %b {acc_type = f32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>, tensor<2x2x2x1xf32>, tensor<2xf32>) -> tensor<1x3x3x2xf32>

// ----- tosa.fully_connected
(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32>
%r = tosa.fully_connected %x, %w, %b : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>

// ----- tosa.matmul
(%x: tensor<1x2x3xf32>, %y: tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
%z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
%r = tosa.matmul %x, %y, %z, %z : (tensor<1x2x3xf32>, tensor<1x3x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x2x4xf32>

// ----- tosa.gather
(%x: tensor<2x5x3xf32>, %i: tensor<2x4xi32>) -> tensor<2x4x3xf32>
%r = tosa.gather %x, %i : (tensor<2x5x3xf32>, tensor<2x4xi32>) -> tensor<2x4x3xf32>

// ----- tosa.concat
(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32>
%r = tosa.concat %x, %y {axis = 0 : i32} : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>

// ----- tosa.const
(%x: tensor<4xf32>) -> tensor<4xf32>
%c = "tosa.const"() <{values = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>}> : () -> tensor<4xf32>
%r = tosa.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// ----- tosa.const_shape tosa.reshape
(%x: tensor<4xf32>) -> tensor<2x2xf32>
%s = tosa.const_shape {values = dense<2> : tensor<2xindex>} : () -> !tosa.shape<2>
%r = tosa.reshape %x, %s : (tensor<4xf32>, !tosa.shape<2>) -> tensor<2x2xf32>

// ----- tosa.pad
(%x: tensor<2x3xf32>) -> tensor<3x5xf32>
%p = tosa.const_shape {values = dense<[1, 0, 0, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
%v = "tosa.const"() <{values = dense<1.5> : tensor<1xf32>}> : () -> tensor<1xf32>
%r = tosa.pad %x, %p, %v : (tensor<2x3xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<3x5xf32>

// ----- tosa.reverse
(%x: tensor<2x3xf32>) -> tensor<2x3xf32>
%r = tosa.reverse %x {axis = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>

// ----- tosa.slice
(%x: tensor<4x6xf32>) -> tensor<2x4xf32>
%r = tosa.slice %x {start = array<i64: 1, 0>, size = array<i64: 2, 4>} : (tensor<4x6xf32>) -> tensor<2x4xf32>

// ----- tosa.tile
(%x: tensor<2x3xf32>) -> tensor<4x9xf32>
%r = tosa.tile %x {multiples = array<i64: 2, 3>} : (tensor<2x3xf32>) -> tensor<4x9xf32>

// ----- tosa.transpose
(%x: tensor<2x3xf32>) -> tensor<3x2xf32>
%r = tosa.transpose %x {perms = array<i32: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>

// ----- tosa.custom tosa.fft2d tosa.rfft2d tosa.variable tosa.variable_read tosa.variable_write
(%x: tensor<4xf32>) -> tensor<4xf32>
%r = $op %x : (tensor<4xf32>) -> tensor<4xf32>

// ----- tosa.cond_if tosa.yield
(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
%r = tosa.cond_if %c (%a = %x, %b = %y) : tensor<i1> (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %s = tosa.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  tosa.yield %s : tensor<4xf32>
} else {
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  tosa.yield %b : tensor<4xf32>
}

// ----- tosa.while_loop
(%n: tensor<1xi32>, %y: tensor<4xf32>) -> tensor<4xf32>
%one = "tosa.const"() {values = dense<1> : tensor<1xi32>} : () -> tensor<1xi32>
%end = "tosa.const"() {values = dense<5> : tensor<1xi32>} : () -> tensor<1xi32>
%m, %r = tosa.while_loop (%i = %n, %x = %y) : (tensor<1xi32>, tensor<4xf32>) -> (tensor<1xi32>, tensor<4xf32>) {
  %c = tosa.greater %end, %i : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
  tosa.yield %c : tensor<1xi1>
} do {
  %j = tosa.add %i, %one : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  %z = tosa.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  tosa.yield %j, %z : tensor<1xi32>, tensor<4xf32>
}

// ----- tosa.rescale
(%x: tensor<6xi8>) -> tensor<6xi8>
%r = tosa.rescale %x {double_round = false, input_zp = 2 : i32, multiplier = array<i32: 1073741824>, output_zp = 100 : i32, per_channel = false, scale32 = true, shift = array<i8: 29>} : (tensor<6xi8>) -> tensor<6xi8>

// ----- tosa.resize
(%x: tensor<1x2x2x1xf32>) -> tensor<1x4x4x1xf32>
%s = tosa.const_shape {values = dense<[4, 2, 4, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
%o = tosa.const_shape {values = dense<[-1, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
%b = tosa.const_shape {values = dense<[1, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
%r = tosa.resize %x, %s, %o, %b {mode = BILINEAR} : (tensor<1x2x2x1xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x4x4x1xf32>

// ----- tosa.scatter
(%x: tensor<1x4x2xf32>, %y: tensor<1x2x2xf32>) -> tensor<1x4x2xf32>
%i = "tosa.const"() {values = dense<[[3, 0]]> : tensor<1x2xi32>} : () -> tensor<1x2xi32>
%r = tosa.scatter %x, %i, %y : (tensor<1x4x2xf32>, tensor<1x2xi32>, tensor<1x2x2xf32>) -> tensor<1x4x2xf32>

// ----- tosa.table
(%x: tensor<6xi8>, %t: tensor<256xi8>) -> tensor<6xi8>
%r = tosa.table %x, %t : (tensor<6xi8>, tensor<256xi8>) -> tensor<6xi8>

// ----- tosa.transpose_conv2d
(%x: tensor<1x3x3x2xf32>, %w: tensor<2x2x2x2xf32>, %b: tensor<2xf32>) -> tensor<1x6x6x2xf32>
%r = tosa.transpose_conv2d %x, %w, %b {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x3x3x2xf32>, tensor<2x2x2x2xf32>, tensor<2xf32>) -> tensor<1x6x6x2xf32>
