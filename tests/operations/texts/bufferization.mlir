// ----- bufferization.to_tensor bufferization.materialize_in_destination
(%a: memref<4xf32>, %b: memref<4xf32>)
%t = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
bufferization.materialize_in_destination %t in restrict writable %b : (tensor<4xf32>, memref<4xf32>) -> ()

// ----- bufferization.to_buffer
(%t: tensor<4xf32>, %b: memref<4xf32>)
%m = bufferization.to_buffer %t read_only : tensor<4xf32> to memref<4xf32>
memref.copy %m, %b : memref<4xf32> to memref<4xf32>

// ----- bufferization.alloc_tensor
(%t: tensor<4xf32>) -> tensor<4xf32>
%r = bufferization.alloc_tensor() copy(%t) : tensor<4xf32>

// ----- bufferization.dealloc_tensor
(%t: tensor<4xf32>, %b: memref<4xf32>)
%c = bufferization.alloc_tensor() copy(%t) : tensor<4xf32>
bufferization.materialize_in_destination %c in restrict writable %b : (tensor<4xf32>, memref<4xf32>) -> ()
bufferization.dealloc_tensor %c : tensor<4xf32>

// ----- bufferization.clone
(%a: memref<4xf32>, %b: memref<4xf32>)
%c = bufferization.clone %a : memref<4xf32> to memref<4xf32>
memref.copy %c, %b : memref<4xf32> to memref<4xf32>
memref.dealloc %c : memref<4xf32>

// ----- bufferization.dealloc
(%a: memref<4xf32>, %b: memref<4xf32>)
%yes = arith.constant true
%c = bufferization.clone %a : memref<4xf32> to memref<4xf32>
memref.copy %c, %b : memref<4xf32> to memref<4xf32>
bufferization.dealloc (%c : memref<4xf32>) if (%yes)
