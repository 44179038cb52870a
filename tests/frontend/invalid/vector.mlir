// a broadcast keeps the element type
func.func @f(%f: f64) {
  %r = vector.broadcast %f : f64 to vector<4xf32>
//     ^ V026
  return
}

// -----

// a fixed extent does not become scalable
func.func @f(%f: vector<4xf32>) {
  %r = vector.broadcast %f : vector<4xf32> to vector<[4]xf32>
//     ^ V026
  return
}

// -----

// a broadcast's extents end the result's
func.func @f(%f: vector<3xf32>) {
  %r = vector.broadcast %f : vector<3xf32> to vector<4xf32>
//     ^ V026
  return
}

// -----

// a buffer is not broadcast
func.func @f(%f: memref<4xf32>) {
  %r = vector.broadcast %f : memref<4xf32> to vector<4xf32>
//     ^ V026
  return
}

// -----

// a position is below the extent
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.extract %a[4] : vector<8xf32> from vector<4x8xf32>
//     ^ V028
  return
}

// -----

// a position has at most one entry per dimension
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.extract %a[0, 1, 2] : f32 from vector<4x8xf32>
//     ^ V013
  return
}

// -----

// what is extracted has the type of the place
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.extract %a[0] : f32 from vector<4x8xf32>
//     ^ V001
  return
}

// -----

// what is inserted has the rank of the place
func.func @f(%a: vector<4x8xf32>, %f: f32) {
  %r = vector.insert %f, %a[0] : f32 into vector<4x8xf32>
//     ^ V001
  return
}

// -----

// what is inserted has the element type
func.func @f(%a: vector<4x8xf32>, %f: vector<8xf64>) {
  %r = vector.insert %f, %a[0] : vector<8xf64> into vector<4x8xf32>
//     ^ V001
  return
}

// -----

// one scalar per element
func.func @f(%f: f32) {
  %r = vector.from_elements %f : vector<2xf32>
//                          ^ P015
  return
}

// -----

// the scalars have the element type
func.func @f(%f: f32, %g: f64) {
  %r = vector.from_elements %f, %g : vector<2xf32>
//                              ^ P014
  return
}

// -----

// scalars make no scalable vector
func.func @f(%f: f32) {
  %r = vector.from_elements %f, %f : vector<[2]xf32>
//     ^ V021
  return
}

// -----

// shuffled vectors have equal rows
func.func @f(%a: vector<4x2xf32>, %b: vector<4x3xf32>) {
  %r = vector.shuffle %a, %b [0] : vector<4x2xf32>, vector<4x3xf32>
//     ^ V016
  return
}

// -----

// a shuffle names elements of either vector
func.func @f(%a: vector<4xf32>) {
  %r = vector.shuffle %a, %a [0, 8] : vector<4xf32>, vector<4xf32>
//     ^ V028
  return
}

// -----

// a shuffle names an element
func.func @f(%a: vector<4xf32>) {
  %r = vector.shuffle %a, %a [] : vector<4xf32>, vector<4xf32>
//     ^ V016
  return
}

// -----

// interleaved vectors are twice as long
func.func @f(%a: vector<4xf32>) {
  %r = vector.interleave %a, %a : vector<4xf32> -> vector<4xf32>
//     ^ V016
  return
}

// -----

// an odd vector has no halves
func.func @f(%a: vector<7xf32>) {
  %r, %s = vector.deinterleave %a : vector<7xf32> -> vector<3xf32>
//         ^ V016
  return
}

// -----

// a slice has one offset per size
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.extract_strided_slice %a offsets = [2], sizes = [2, 2], strides = [1] : vector<4x8xf32> to vector<2x8xf32>
//     ^ V016
  return
}

// -----

// a slice lies inside
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.extract_strided_slice %a offsets = [2], sizes = [3], strides = [1] : vector<4x8xf32> to vector<3x8xf32>
//     ^ V016
  return
}

// -----

// a slice is dense
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.extract_strided_slice %a offsets = [2], sizes = [1], strides = [2] : vector<4x8xf32> to vector<1x8xf32>
//     ^ V016
  return
}

// -----

// a slice has the type that its sizes say
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.extract_strided_slice %a offsets = [2], sizes = [1], strides = [1] : vector<4x8xf32> to vector<2x8xf32>
//     ^ V016
  return
}

// -----

// an inserted slice has one offset per dimension
func.func @f(%a: vector<2x4xf32>, %b: vector<16x4x8xf32>) {
  %r = vector.insert_strided_slice %a, %b offsets = [0, 2], strides = [1, 1] : vector<2x4xf32> into vector<16x4x8xf32>
//     ^ V016
  return
}

// -----

// an inserted slice lies inside
func.func @f(%a: vector<2x4xf32>, %b: vector<16x4x8xf32>) {
  %r = vector.insert_strided_slice %a, %b offsets = [0, 3, 2], strides = [1, 1] : vector<2x4xf32> into vector<16x4x8xf32>
//     ^ V016
  return
}

// -----

// scalable dimensions are inserted whole
func.func @f(%a: vector<2x[4]xf32>, %b: vector<16x4x[8]xf32>) {
  %r = vector.insert_strided_slice %a, %b offsets = [0, 0, 0], strides = [1, 1] : vector<2x[4]xf32> into vector<16x4x[8]xf32>
//     ^ V016
  return
}

// -----

// a part of a scalable vector is at a multiple of its length
func.func @f(%a: vector<8xf32>, %b: vector<[4]xf32>) {
  %r = vector.scalable.insert %a, %b[2] : vector<8xf32> into vector<[4]xf32>
//     ^ V016
  return
}

// -----

// factors have one element type
func.func @f(%a: vector<8xf32>, %b: vector<4xf64>) {
  %r = vector.outerproduct %a, %b : vector<8xf32>, vector<4xf64>
//     ^ V016
  return
}

// -----

// factors of an outer product have rank one
func.func @f(%a: vector<8x2xf32>, %b: vector<4xf32>) {
  %r = vector.outerproduct %a, %b : vector<8x2xf32>, vector<4xf32>
//     ^ V016
  return
}

// -----

// floats are not combined by bits
func.func @f(%a: vector<8xf32>, %b: vector<4xf32>) {
  %r = vector.outerproduct %a, %b {kind = #vector.kind<and>} : vector<8xf32>, vector<4xf32>
//     ^ V016
  return
}

// -----

// a fused product is of floats
func.func @f(%a: vector<4xi32>) {
  %r = vector.fma %a, %a, %a : vector<4xi32>
//                ^ V021
  return
}

// -----

// a reduction gives an element
func.func @f(%a: vector<4xf32>) {
  %r = vector.reduction <add>, %a : vector<4xf32> into f64
//     ^ V001
  return
}

// -----

// a reduction is of one dimension
func.func @f(%a: vector<4x4xf32>) {
  %r = vector.reduction <add>, %a : vector<4x4xf32> into f32
//     ^ V016
  return
}

// -----

// floats have no signed maximum
func.func @f(%a: vector<4xf32>) {
  %r = vector.reduction <maxsi>, %a : vector<4xf32> into f32
//     ^ V016
  return
}

// -----

// the dimensions that remain make the result
func.func @f(%a: vector<4x8xf32>, %b: vector<4xf32>) {
  %r = vector.multi_reduction <add>, %a, %b [0] : vector<4x8xf32> to vector<4xf32>
//     ^ V001
  return
}

// -----

// reduced dimensions exist
func.func @f(%a: vector<4x8xf32>, %b: vector<4xf32>) {
  %r = vector.multi_reduction <add>, %a, %b [2] : vector<4x8xf32> to vector<4xf32>
//     ^ V028
  return
}

// -----

// a dimension is reduced once
func.func @f(%a: vector<4x8xf32>, %b: vector<4xf32>) {
  %r = vector.multi_reduction <add>, %a, %b [1, 1] : vector<4x8xf32> to vector<4xf32>
//     ^ V016
  return
}

// -----

// a scan starts from the other dimensions
func.func @f(%a: vector<4x8xf32>, %b: vector<8xf32>) {
  %r:2 = vector.scan <add>, %a, %b reduction_dim = 1, inclusive = true : vector<4x8xf32>, vector<8xf32>
//       ^ V001
  return
}

// -----

// a contraction has three maps
func.func @f(%a: vector<4xf32>, %c: f32) {
  %r = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["reduction"], kind = #vector.kind<add>} %a, %a, %c : vector<4xf32>, vector<4xf32> into f32
//     ^ V016
  return
}

// -----

// a map has one dimension per iterator
func.func @f(%a: vector<4xf32>, %c: f32) {
  %r = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %a, %a, %c : vector<4xf32>, vector<4xf32> into f32
//     ^ V016
  return
}

// -----

// an iterator is parallel or a reduction
func.func @f(%a: vector<4xf32>, %c: f32) {
  %r = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["window"], kind = #vector.kind<add>} %a, %a, %c : vector<4xf32>, vector<4xf32> into f32
//     ^ V016
  return
}

// -----

// a contraction contracts
func.func @f(%a: vector<4xf32>) {
  %r = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"], kind = #vector.kind<add>} %a, %a, %a : vector<4xf32>, vector<4xf32> into vector<4xf32>
//     ^ V016
  return
}

// -----

// factors agree on shared dimensions
func.func @f(%a: vector<4xf32>, %b: vector<5xf32>, %c: f32) {
  %r = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<4xf32>, vector<5xf32> into f32
//     ^ V016
  return
}

// -----

// a load reads elements of the memory
func.func @f(%m: memref<?xf32>, %i: index) {
  %r = vector.load %m[%i] : memref<?xf32>, vector<8xf64>
//     ^ V016
  return
}

// -----

// a vector has at most the memory's rank
func.func @f(%m: memref<?xf32>, %i: index) {
  %r = vector.load %m[%i] : memref<?xf32>, vector<2x8xf32>
//     ^ V016
  return
}

// -----

// a load reads adjacent elements
func.func @f(%m: memref<?x?xf32, strided<[?, 2]>>, %i: index) {
  %r = vector.load %m[%i, %i] : memref<?x?xf32, strided<[?, 2]>>, vector<8xf32>
//     ^ V016
  return
}

// -----

// an alignment is a power of two
func.func @f(%m: memref<?xf32>, %i: index) {
  %r = vector.load %m[%i] alignment = 3 : memref<?xf32>, vector<8xf32>
//     ^ V016
  return
}

// -----

// a mask is as long as the vector
func.func @f(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<3xi1>) {
  %r = vector.maskedload %m[%i], %k, %v : memref<?xf32>, vector<3xi1>, vector<4xf32> into vector<4xf32>
//     ^ V016
  return
}

// -----

// a mask is of i1
func.func @f(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi8>) {
  %r = vector.maskedload %m[%i], %k, %v : memref<?xf32>, vector<4xi8>, vector<4xf32> into vector<4xf32>
//                               ^ V021
  return
}

// -----

// positions are integers
func.func @f(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>) {
  %r = vector.gather %m[%i] [%v], %k, %v : memref<?xf32>, vector<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
//                           ^ V021
  return
}

// -----

// one index per dimension of what is scattered
func.func @f(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>, %x: vector<4xi32>) {
  vector.scatter %m[%i, %i] [%x], %k, %v : memref<?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32>
//^ V013
  return
}

// -----

// one index per dimension of what is transferred
func.func @f(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i], %f : memref<?x?xf32>, vector<4xf32>
//     ^ V013
  return
}

// -----

// a transfer's map is of the rank of both
func.func @f(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1) -> (d0, d1)>} : memref<?x?xf32>, vector<4xf32>
//     ^ V012
  return
}

// -----

// a transfer's map permutes
func.func @f(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1) -> (d0 + d1)>} : memref<?x?xf32>, vector<4xf32>
//     ^ V016
  return
}

// -----

// a transfer has one bound per dimension
func.func @f(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f {in_bounds = [true, true]} : memref<?x?xf32>, vector<4xf32>
//     ^ V016
  return
}

// -----

// a row holds whole elements
func.func @f(%m: memref<?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i], %f : memref<?xf32>, vector<3xi16>
//     ^ V016
  return
}

// -----

// a write repeats no elements
func.func @f(%m: memref<?x?xf32>, %i: index, %v: vector<4x3xf32>) {
  vector.transfer_write %v, %m[%i, %i] {permutation_map = affine_map<(d0, d1) -> (0, d1)>} : vector<4x3xf32>, memref<?x?xf32>
//^ V016
  return
}

// -----

// a cast keeps the number of elements
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.shape_cast %a : vector<4x8xf32> to vector<31xf32>
//     ^ V026
  return
}

// -----

// a cast keeps the number of scalable dimensions
func.func @f(%a: vector<4x[8]xf32>) {
  %r = vector.shape_cast %a : vector<4x[8]xf32> to vector<32xf32>
//     ^ V026
  return
}

// -----

// a bitcast keeps the bits of a row
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.bitcast %a : vector<4x8xf32> to vector<4x8xf16>
//     ^ V026
  return
}

// -----

// a memref of a vector has the extents of the memref
func.func @f(%a: memref<4x8xf32>) {
  %r = vector.type_cast %a : memref<4x8xf32> to memref<vector<4x7xf32>>
//     ^ V026
  return
}

// -----

// a transposition names each dimension
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.transpose %a, [1, 1] : vector<4x8xf32> to vector<8x8xf32>
//     ^ V016
  return
}

// -----

// a transposed vector has the extents in order
func.func @f(%a: vector<4x8xf32>) {
  %r = vector.transpose %a, [0, 1] : vector<4x8xf32> to vector<8x4xf32>
//     ^ V016
  return
}

// -----

// a mask has one length per dimension
func.func @f(%a: index) {
  %r = vector.create_mask %a : vector<4x4xi1>
//     ^ V016
  return
}

// -----

// a mask's lengths are within the extents
func.func @f(%a: index) {
  %r = vector.constant_mask [5] : vector<4xi1>
//     ^ V016
  return
}

// -----

// an empty mask is empty in each dimension
func.func @f(%a: index) {
  %r = vector.constant_mask [0, 1] : vector<4x4xi1>
//     ^ V016
  return
}

// -----

// a masked operation has the results of the mask
func.func @f(%k: vector<8xi1>, %v: vector<8xf32>) {
  %r = vector.mask %k { vector.reduction <add>, %v : vector<8xf32> into f32 } : vector<8xi1> -> i32
//     ^ V016
  return
}

// -----

// a mask fits the operation inside
func.func @f(%k: vector<7xi1>, %v: vector<8xf32>) {
  %r = vector.mask %k { vector.reduction <add>, %v : vector<8xf32> into f32 } : vector<7xi1> -> f32
//     ^ V016
  return
}

// -----

// some operations take no mask
func.func @f(%k: vector<8xi1>, %m: memref<?xf32>, %i: index, %v: vector<8xf32>) {
  vector.mask %k { vector.store %v, %m[%i] : memref<?xf32>, vector<8xf32> } : vector<8xi1>
//^ V016
  return
}

// -----

// a buffer is not printed
func.func @f(%a: tensor<4xf32>) {
  vector.print %a : tensor<4xf32>
//             ^ V021
  return
}

// -----

// a string is printed alone
func.func @f(%a: f32) {
  vector.print %a : f32 str "x"
//^ V016
  return
}

// -----

// steps have one dimension
func.func @f(%a: index) {
  %r = vector.step : vector<4x4xindex>
//     ^ V021
  return
}
