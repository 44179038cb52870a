// a view has an offset for each dimension
func.func @f(%m: memref<8x8xf32>) {
  %0 = memref.subview %m[0] [4] [1] : memref<8x8xf32> to memref<4xf32>
//     ^ V013
  return
}

// -----

// a view keeps the element type
func.func @f(%m: memref<8xf32>) {
  %0 = memref.subview %m[0] [4] [1] : memref<8xf32> to memref<4xf64, strided<[1]>>
//     ^ V016
  return
}

// -----

// a view has the sizes that it states
func.func @f(%m: memref<8xf32>) {
  %0 = memref.subview %m[0] [4] [1] : memref<8xf32> to memref<5xf32, strided<[1]>>
//     ^ V016
  return
}

// -----

// a collapsed shape has as many dimensions as groups
func.func @f(%m: memref<4x8xf32>) {
  %0 = memref.collapse_shape %m [[0], [1]] : memref<4x8xf32> into memref<32xf32>
//     ^ V016
  return
}

// -----

// groups of dimensions are contiguous
func.func @f(%m: tensor<4x8x2xf32>) {
  %0 = tensor.collapse_shape %m [[0, 2], [1]] : tensor<4x8x2xf32> into tensor<8x8xf32>
//     ^ V016
  return
}

// -----

// extents multiply to that of the group
func.func @f(%m: tensor<4x8xf32>) {
  %0 = tensor.collapse_shape %m [[0, 1]] : tensor<4x8xf32> into tensor<33xf32>
//     ^ V016
  return
}

// -----

// an element is taken at the rank's indices
func.func @f(%t: tensor<4x4xf32>, %i: index) {
  %0 = tensor.extract %t[%i] : tensor<4x4xf32>
//     ^ V013
  return
}

// -----

// an inserted element has the element type
func.func @f(%t: tensor<4xf32>, %i: index, %x: f64) {
  %0 = tensor.insert %x into %t[%i] : tensor<4xf32>
//                   ^ P014
  return
}

// -----

// elements are as many as the shape has
func.func @f(%x: f32) {
  %0 = tensor.from_elements %x, %x : tensor<3xf32>
//                          ^ P015
  return
}

// -----

// a generated tensor has one size per dynamic extent
func.func @f(%n: index) {
  %0 = tensor.empty() : tensor<?xf32>
//     ^ V002
  return
}

// -----

// a vector is read into its element type
func.func @f(%m: memref<8xf32>, %i: index, %x: f64) {
  %0 = vector.transfer_read %m[%i], %x : memref<8xf32>, vector<4xf32>
//                                  ^ P014
  return
}

// -----

// a vector is read at the rank's indices
func.func @f(%m: memref<8x8xf32>, %i: index, %x: f32) {
  %0 = vector.transfer_read %m[%i], %x : memref<8x8xf32>, vector<4xf32>
//     ^ V013
  return
}

// -----

// a position in a vector is inside
func.func @f(%v: vector<4xf32>) {
  %0 = vector.extract %v[4] : f32 from vector<4xf32>
//     ^ V028
  return
}

// -----

// a broadcast keeps trailing extents
func.func @f(%v: vector<4xf32>) {
  %0 = vector.broadcast %v : vector<4xf32> to vector<2x5xf32>
//     ^ V026
  return
}

// -----

// a shape cast keeps the number of elements
func.func @f(%v: vector<4xf32>) {
  %0 = vector.shape_cast %v : vector<4xf32> to vector<5xf32>
//     ^ V026
  return
}
