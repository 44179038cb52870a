#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#turned = affine_map<(m, n, k) -> (k, m)>
func.func @contractions(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>, %i: tensor<4x8xi8>, %j: tensor<8x4xi8>, %k: tensor<4x4xi32>, %z: i32) {
  %0 = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%i, %j : tensor<4x8xi8>, tensor<8x4xi8>) outs(%k : tensor<4x4xi32>) -> tensor<4x4xi32>
  %1 = linalg.matmul indexing_maps = [#turned, #rhs, #out] ins(%b, %b : tensor<8x4xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.matmul indexing_maps = [#lhs, #rhs, #out] {tag} ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = linalg.contract indexing_maps = [#lhs, #rhs, #out] ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = linalg.quantized_matmul ins(%i, %j, %z, %z : tensor<4x8xi8>, tensor<8x4xi8>, i32, i32) outs(%k : tensor<4x4xi32>) -> tensor<4x4xi32>
  return
}
func.func @scaled(%a: tensor<200x512xf8E5M2>, %s: tensor<7x4xf8E8M0FNU>, %b: tensor<128x512xf8E5M2>, %t: tensor<128xf8E8M0FNU>, %c: tensor<200x128xf32>) -> tensor<200x128xf32> {
  %0 = linalg.scaled_contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (m floordiv 32, k floordiv 128)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (n)>, #out] ins(%a, %s, %b, %t : tensor<200x512xf8E5M2>, tensor<7x4xf8E8M0FNU>, tensor<128x512xf8E5M2>, tensor<128xf8E8M0FNU>) outs(%c : tensor<200x128xf32>) -> tensor<200x128xf32>
  return %0 : tensor<200x128xf32>
}
func.func @pointwise(%a: memref<4x8xf32>, %r: memref<8xf32>, %m: f64, %s: i32) {
  linalg.exp ins(%a : memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  linalg.max ins(%a, %a : memref<4x8xf32>, memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  linalg.elementwise <exp> ins(%a : memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  linalg.elementwise kind = #linalg.elementwise_kind<add> indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>] ins(%r, %a : memref<8xf32>, memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  linalg.elemwise_unary {fun = #linalg.unary_fn<tanh>} ins(%a : memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  linalg.elemwise_binary {fun = #linalg.binary_fn<mul>, cast = #linalg.type_fn<cast_signed>} ins(%a, %a : memref<4x8xf32>, memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  linalg.fill_rng_2d ins(%m, %m, %s : f64, f64, i32) outs(%a : memref<4x8xf32>)
  linalg.soft_plus_2d ins(%a : memref<4x8xf32>) outs(%a : memref<4x8xf32>)
  return
}
func.func @quantized_window(%i: tensor<1x8x8x3xi8>, %k: tensor<3x3x3x5xi8>, %z: i32, %o: tensor<1x3x3x5xi32>) -> tensor<1x3x3x5xi32> {
  %0 = linalg.conv_2d_nhwc_hwcf_q {strides = dense<2> : tensor<2xi64>} ins(%i, %k, %z, %z : tensor<1x8x8x3xi8>, tensor<3x3x3x5xi8>, i32, i32) outs(%o : tensor<1x3x3x5xi32>) -> tensor<1x3x3x5xi32>
  return %0 : tensor<1x3x3x5xi32>
}
func.func @tiles(%a: tensor<16x8xf32>, %b: tensor<2x4x8x2xf32>, %c: tensor<17x8xf32>, %d: tensor<?x?x?x2xf32>, %m: memref<16x8xf32>, %p: memref<2x4x8x2xf32>, %x: f32, %n: index) {
  %0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [8, 2] into %b : tensor<16x8xf32> -> tensor<2x4x8x2xf32>
  %1 = linalg.pack %c padding_value(%x : f32) outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [%n, 2] into %d {tag} : tensor<17x8xf32> -> tensor<?x?x?x2xf32>
  %2 = linalg.unpack %0 inner_dims_pos = [0, 1] inner_tiles = [8, 2] into %a : tensor<2x4x8x2xf32> -> tensor<16x8xf32>
  linalg.pack %m inner_dims_pos = [0, 1] inner_tiles = [8, 2] into %p : memref<16x8xf32> -> memref<2x4x8x2xf32>
  %3 = linalg.softmax dimension(1) ins(%a : tensor<16x8xf32>) outs(%a : tensor<16x8xf32>) -> tensor<16x8xf32>
  linalg.softmax {tag} dimension(0) ins(%m : memref<16x8xf32>) outs(%m : memref<16x8xf32>)
  return
}
func.func @winograd(%f: tensor<2x3x3x5xf32>, %g: tensor<6x6x5x2xf32>, %i: tensor<2x10x10x5xf32>, %j: tensor<6x6x2x2x2x5xf32>, %v: tensor<6x6x2x2x2x2xf32>, %o: tensor<2x8x8x2xf32>) {
  %0 = linalg.winograd_filter_transform fmr(F_4_3) ins(%f : tensor<2x3x3x5xf32>) outs(%g : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
  %1 = linalg.winograd_input_transform m(4) r(3) ins(%i : tensor<2x10x10x5xf32>) outs(%j : tensor<6x6x2x2x2x5xf32>) -> tensor<6x6x2x2x2x5xf32>
  %2 = linalg.winograd_output_transform {tag} fmr(F_4_3) ins(%v : tensor<6x6x2x2x2x2xf32>) outs(%o : tensor<2x8x8x2xf32>) -> tensor<2x8x8x2xf32>
  return
}
func.func @bodies(%a: tensor<16x32xf32>, %b: tensor<16x32xi32>, %p: tensor<16xf32>, %q: tensor<16xi32>) {
  %0:2 = linalg.reduce ins(%a, %b : tensor<16x32xf32>, tensor<16x32xi32>) outs(%p, %q : tensor<16xf32>, tensor<16xi32>) dimensions = [1] {tag}
    (%x: f32, %y: i32, %u: f32, %v: i32) {
      %1 = arith.addf %x, %u : f32
      %2 = arith.addi %y, %v : i32
      linalg.yield %1, %2 : f32, i32
    }
  %3 = linalg.map { arith.mulf {fastmath = #arith.fastmath<fast>} } ins(%a, %a : tensor<16x32xf32>, tensor<16x32xf32>) outs(%a : tensor<16x32xf32>)
  %4 = linalg.map ins(%a : tensor<16x32xf32>) outs(%a : tensor<16x32xf32>) (%x: f32) {
    %i = linalg.index 1 : index
    linalg.yield %x : f32
  }
  %5 = linalg.map outs(%p : tensor<16xf32>) (%x: f32) {
    linalg.yield %x : f32
  }
  return
}
