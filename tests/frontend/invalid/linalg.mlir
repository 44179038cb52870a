// an output is a memref or a tensor
func.func @f(%x: f32) {
  linalg.fill ins(%x : f32) outs(%x : f32)
//^ V021
  return
}

// -----

// the extents of a product agree
func.func @f(%a: tensor<4x8xf32>, %b: tensor<9x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<9x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
//     ^ V016
  return %0 : tensor<4x4xf32>
}

// -----

// the result of a product has the output's type
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf64>
//     ^ V016
  return
}

// -----

// an operation on buffers gives no result
func.func @f(%a: memref<4x8xf32>, %b: memref<8x4xf32>, %c: memref<4x4xf32>) {
  %0 = linalg.matmul ins(%a, %b : memref<4x8xf32>, memref<8x4xf32>) outs(%c : memref<4x4xf32>) -> memref<4x4xf32>
//     ^ V016
  return
}

// -----

// a product has two inputs
func.func @f(%a: memref<4x4xf32>, %c: memref<4x4xf32>) {
  linalg.matmul ins(%a : memref<4x4xf32>) outs(%c : memref<4x4xf32>)
//^ V016
  return
}

// -----

// there are as many types as inputs
func.func @f(%a: memref<4x4xf32>, %c: memref<4x4xf32>) {
  linalg.matmul ins(%a, %a : memref<4x4xf32>) outs(%c : memref<4x4xf32>)
//                         ^ P015
  return
}

// -----

// an operation has outputs
func.func @f(%a: memref<4x4xf32>) {
  linalg.matmul ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>)
  return
//^ P026
}

// -----

// a generic operation has a map for each operand
func.func @f(%a: memref<4xf32>) {
  linalg.generic {indexing_maps = [], iterator_types = ["parallel"]} outs(%a : memref<4xf32>) {
//^ V016
  ^bb0(%x: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// a generic operation has iterators
func.func @f(%a: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>]} outs(%a : memref<4xf32>) {
//^ V014
  ^bb0(%x: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// every loop has an extent
func.func @f(%a: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]} outs(%a : memref<4xf32>) {
//^ V016
  ^bb0(%x: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// extents that one loop gives agree
func.func @f(%a: memref<4xf32>, %b: memref<5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<4xf32>) outs(%b : memref<5xf32>) {
//^ V016
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// a body takes one element per operand
func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) {
//^ V016
  ^bb0(%x: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// an index is of a loop that exists
func.func @f(%b: memref<4xindex>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%b : memref<4xindex>) {
  ^bb0(%y: index):
    %i = linalg.index 1 : index
//       ^ V028
    linalg.yield %i : index
  }
  return
}

// -----

// an index stands in a structured operation
func.func @f() {
  %i = linalg.index 0 : index
//     ^ V023
  return
}

// -----

// a permutation has the rank of the input
func.func @f(%a: memref<4x8xf32>, %b: memref<8x4xf32>) {
  linalg.transpose ins(%a : memref<4x8xf32>) outs(%b : memref<8x4xf32>) permutation = [0]
//^ V016
  return
}

// -----

// a permutation names each dimension once
func.func @f(%a: memref<4x8xf32>, %b: memref<8x4xf32>) {
  linalg.transpose ins(%a : memref<4x8xf32>) outs(%b : memref<8x4xf32>) permutation = [0, 0]
//^ V016
  return
}

// -----

// a broadcast adds the named dimensions
func.func @f(%a: memref<4xf32>, %b: memref<4x8xf32>) {
  linalg.broadcast ins(%a : memref<4xf32>) outs(%b : memref<4x8xf32>) dimensions = [0, 1]
//^ V016
  return
}
