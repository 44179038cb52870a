func.func @f1(%m: memref<?x4xf32>, %u: memref<*xf32>, %t: tensor<?x4xf32>, %s: memref<?x4xf32, strided<[?, ?], offset: ?>>, %ut: tensor<*xf32>, %n: index) {
  %0 = bufferization.to_tensor %m : memref<?x4xf32> to tensor<?x4xf32>
  %1 = bufferization.to_tensor %m restrict : memref<?x4xf32> to tensor<?x4xf32>
  %2 = bufferization.to_tensor %m restrict writable : memref<?x4xf32> to tensor<?x4xf32>
  %3 = bufferization.to_tensor %m writable {foo} : memref<?x4xf32> to tensor<?x4xf32>
  %4 = bufferization.to_tensor %u : memref<*xf32> to tensor<*xf32>
  %5 = bufferization.to_buffer %t : tensor<?x4xf32> to memref<?x4xf32>
  %6 = bufferization.to_buffer %t read_only : tensor<?x4xf32> to memref<?x4xf32, strided<[?, ?], offset: ?>>
  %7 = bufferization.to_buffer %t {foo} : tensor<?x4xf32> to memref<?x4xf32, 3>
  %8 = bufferization.to_buffer %ut : tensor<*xf32> to memref<*xf32>
  %9 = bufferization.to_tensor %s : memref<?x4xf32, strided<[?, ?], offset: ?>> to tensor<?x4xf32>
  %10 = bufferization.clone %m : memref<?x4xf32> to memref<?x4xf32>
  %11 = bufferization.clone %u {foo} : memref<*xf32> to memref<*xf32>
  %12 = bufferization.clone %m : memref<?x4xf32> to memref<?x4xf32, strided<[?, ?], offset: ?>>
  bufferization.dealloc_tensor %t : tensor<?x4xf32>
  return
}
func.func @f2(%m: memref<?x4xf32>, %t: tensor<?x4xf32>, %n: index) {
  %0 = bufferization.alloc_tensor(%n) : tensor<?x4xf32>
  %1 = bufferization.alloc_tensor() : tensor<4x4xf32>
  %2 = bufferization.alloc_tensor() copy(%t) : tensor<?x4xf32>
  %3 = bufferization.alloc_tensor(%n) size_hint=%n : tensor<?x4xf32>
  %4 = bufferization.alloc_tensor() copy(%t) size_hint=%n : tensor<?x4xf32>
  %5 = bufferization.alloc_tensor() : tensor<f32>
  return
}
func.func @f3(%m: memref<?x4xf32>, %t: tensor<?x4xf32>, %n: index) {
  %0 = bufferization.alloc_tensor() copy(%t) <{memory_space = 1}> : tensor<?x4xf32>
  return
}
func.func @f4(%m: memref<?x4xf32>, %t: tensor<?x4xf32>, %n: index) {
  %0 = bufferization.alloc_tensor(%n) <{memory_space = "foo"}> {bar} : tensor<?x4xf32>
  return
}
func.func @f5(%m: memref<?x4xf32>, %t: tensor<?x4xf32>, %n: index) {
  %0 = bufferization.alloc_tensor(%n) <{memory_space = "foo"}> {bar} : tensor<?x4xf32>
  return
}
func.func @f6(%m: memref<?x4xf32>, %t: tensor<?x4xf32>, %u: tensor<?x4xf32>) {
  %0 = bufferization.materialize_in_destination %t in %u : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  bufferization.materialize_in_destination %t in writable %m : (tensor<?x4xf32>, memref<?x4xf32>) -> ()
  bufferization.materialize_in_destination %t in restrict writable %m : (tensor<?x4xf32>, memref<?x4xf32>) -> ()
  bufferization.materialize_in_destination %t in restrict writable %m {foo} : (tensor<?x4xf32>, memref<?x4xf32>) -> ()
  return
}
func.func @f7(%a: memref<2xf32>, %b: memref<4xi32>, %c: i1, %u: memref<*xf32>) -> i1 {
  %0:2 = bufferization.dealloc(%a, %b : memref<2xf32>, memref<4xi32>) if(%c, %c) retain(%a, %u : memref<2xf32>, memref<*xf32>)
  bufferization.dealloc(%a : memref<2xf32>) if(%c)
  bufferization.dealloc
  %1 = bufferization.dealloc retain(%a : memref<2xf32>)
  bufferization.dealloc(%a : memref<2xf32>) if(%c) {foo}
  return %0#0 : i1
}
func.func @f8(%m: memref<?x4xf32>, %t: tensor<?x4xf32>) {
  %0 = bufferization.to_tensor %m : memref<?x4xf32> to tensor<?x4xf32>
  %1 = bufferization.to_buffer %t : tensor<?x4xf32> to memref<?x4xf32>
  %2 = bufferization.to_buffer %t read_only : tensor<?x4xf32> to memref<?x4xf32>
  %3 = bufferization.to_tensor %m restrict writable : memref<?x4xf32> to tensor<?x4xf32>
  %4 = bufferization.to_buffer %t : tensor<?x4xf32> to memref<?x4xf32>
  %5 = bufferization.to_buffer %t {foo} : tensor<?x4xf32> to memref<?x4xf32, strided<[?, ?], offset: ?>>
  return
}
func.func @f9(%n: index) {
  %0 = bufferization.alloc_tensor(%n) {bufferization.escape = [false]} : tensor<?x4xf32>
  return
}
