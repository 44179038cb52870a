func.func @views(%m: memref<?x?xf32>, %n: index) {
  %r = linalg.range %n : %n : %n : !linalg.range
  %s = linalg.slice %m[%r, %r] : memref<?x?xf32>, !linalg.range, !linalg.range, memref<?x?xf32>
  %t = linalg.slice %m[%n, %r] : memref<?x?xf32>, index, !linalg.range, memref<?xf32>
  %b = linalg.buffer_alloc %n {alignment = 16 : i64} : !linalg.buffer<?xf32>
  %c = linalg.buffer_alloc() : !linalg.buffer<17xf32>
  %v = linalg.view %b[%r] : !linalg.buffer<?xf32> -> !linalg.view<?xf32>
  %w = linalg.base_view %b[%r, %r] : !linalg.buffer<?xf32> -> !linalg.view<?x?xf32>
  %u = linalg.subview %w[%n, %n, %n, %n, %n, %n] : !linalg.view<?x?xf32>
  %x = linalg.load %v[%n] : !linalg.view<?xf32>
  linalg.store %x, %w[%n, %n] : !linalg.view<?x?xf32>
  linalg.dot(%v, %v, %v) : !linalg.view<?xf32>, !linalg.view<?xf32>, !linalg.view<?xf32>
  %z = linalg.buffer_size %b : !linalg.buffer<?xf32>
  linalg.buffer_dealloc %b : !linalg.buffer<?xf32>
  return
}
func.func @padded(%f: memref<?x?x?x?xf32>, %i: memref<?x?x?x?xf32>, %o: memref<?x?x?x?xf32>) {
  linalg.conv(%f, %i, %o) {dilations = [4, 4], padding = dense<[[0, 1], [1, 1]]> : tensor<2x2xi64>, strides = [2, 2]} : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?x?xf32>
  linalg.pooling_max(%f, %i, %o) {padding = dense<0> : tensor<4x2xi64>} : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?x?xf32>
  return
}
func.func @tiles(%a: memref<24x64xi8>, %t: tensor<24x64xi8>, %n: index) -> tensor<24x64xi8> {
  %r = linalg.tiled_loop (%i, %j) = (%n, %n) to (%n, %n) step (%n, %n) ins (%b = %a: memref<24x64xi8>) outs (%u = %t: tensor<24x64xi8>) iterators["parallel", "reduction"] distribution["block_x", "none"] attributes {tag = 1 : i64} {
    linalg.yield %u : tensor<24x64xi8>
  }
  linalg.tiled_loop (%i) = (%n) to (%n) step (%n) ins (%a : memref<24x64xi8>) outs (%a : memref<24x64xi8>) {
    linalg.yield
  }
  return %r : tensor<24x64xi8>
}
