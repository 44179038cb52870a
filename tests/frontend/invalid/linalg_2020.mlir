// a product has three operands
func @f(%a: memref<4x8xf32>, %b: memref<8x4xf32>) {
  linalg.matmul(%a, %b) : memref<4x8xf32>, memref<8x4xf32>
//^ V016
  return
}

// -----

// the inner extents of a product agree
func @f(%a: memref<4x8xf32>, %b: memref<9x4xf32>, %c: memref<4x4xf32>) {
  linalg.matmul(%a, %b, %c) : memref<4x8xf32>, memref<9x4xf32>, memref<4x4xf32>
//^ V016
  return
}

// -----

// the ranks of a product are two
func @f(%a: memref<8xf32>, %b: memref<8x4xf32>, %c: memref<4x4xf32>) {
  linalg.matmul(%a, %b, %c) : memref<8xf32>, memref<8x4xf32>, memref<4x4xf32>
//^ V016
  return
}

// -----

// a dot product gives a scalar
func @f(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
  linalg.dot(%a, %b, %c) : memref<8xf32>, memref<8xf32>, memref<8xf32>
//^ V016
  return
}

// -----

// a matrix is multiplied by a vector of its width
func @f(%a: memref<4x8xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  linalg.matvec(%a, %b, %c) : memref<4x8xf32>, memref<4xf32>, memref<4xf32>
//^ V016
  return
}

// -----

// a copy is between equal shapes
func @f(%a: memref<8xf32>, %b: memref<9xf32>) {
  linalg.copy(%a, %b) : memref<8xf32>, memref<9xf32>
//^ V016
  return
}

// -----

// a generic operation has one map per operand
#t = {args_in = 1, args_out = 1, indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.generic #t %a, %b {
//^ V016
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } : memref<8xf32>, memref<8xf32>
  return
}

// -----

// maps take one dimension per iterator
#t = {args_in = 1, args_out = 1, indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel"]}
func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.generic #t %a, %b {
//^ V016
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } : memref<8xf32>, memref<8xf32>
  return
}

// -----

// maps give one index per dimension of their operand
#t = {args_in = 1, args_out = 1, indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.generic #t %a, %b {
//^ V016
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } : memref<8xf32>, memref<8xf32>
  return
}

// -----

// an iterator is parallel, a reduction or a window
#t = {args_in = 1, args_out = 1, indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["sideways"]}
func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.generic #t %a, %b {
//^ V016
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } : memref<8xf32>, memref<8xf32>
  return
}

// -----

// a body takes the elements
#t = {args_in = 1, args_out = 1, indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.generic #t %a, %b {
//^ V016
  ^bb0(%x: f64, %y: f32):
    linalg.yield %y : f32
  } : memref<8xf32>, memref<8xf32>
  return
}

// -----

// a body yields the outputs' elements
#t = {args_in = 1, args_out = 1, indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
func @f(%a: memref<8xf32>, %b: memref<8xf64>) {
  linalg.generic #t %a, %b {
  ^bb0(%x: f32, %y: f64):
    linalg.yield %x : f32
//               ^ V017
  } : memref<8xf32>, memref<8xf64>
  return
}

// -----

// a body yields one value per output
#t = {args_in = 1, args_out = 1, indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.generic #t %a, %b {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x, %y : f32, f32
//  ^ V017
  } : memref<8xf32>, memref<8xf32>
  return
}

// -----

// a trait is defined
func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.generic #missing %a, %b {
//               ^ P009
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } : memref<8xf32>, memref<8xf32>
  return
}

// -----

// a yield belongs to a structured operation
func @f(%x: f32) {
  linalg.yield %x : f32
//^ V023
}

// -----

// a transposition permutes all dimensions
func @f(%a: memref<?x?xf32, offset: ?, strides: [?, 1]>) {
  %0 = linalg.transpose %a (i, j, k) -> (k, j, i) : memref<?x?xf32, offset: ?, strides: [?, 1]>
//                                                  ^ P022
  return
}
