// a reduction has a name or a body
func.func @f(%f: f32) {
  %r = gpu.all_reduce %f {} : (f32) -> f32
//     ^ V016
  return
}

// -----

// a reduction's name fits the type
func.func @f(%f: f32) {
  %r = gpu.all_reduce and %f {} : (f32) -> f32
//     ^ V016
  return
}

// -----

// a reduction's body combines two values
func.func @f(%f: f32) {
  %r = gpu.all_reduce %f { ^bb(%a: f32): gpu.yield %a : f32 } : (f32) -> f32
//     ^ V016
  return
}

// -----

// clusters are powers of two
func.func @f(%f: f32) {
  %r = gpu.subgroup_reduce add %f cluster(size = 3) : (f32) -> f32
//     ^ V016
  return
}

// -----

// threads exchange numbers
func.func @f(%f: index, %i: i32) {
  %r, %s = gpu.shuffle xor %f, %i, %i : index
//                         ^ V021
  return
}

// -----

// a shuffle has a known mode
func.func @f(%f: f32, %i: i32) {
  %r, %s = gpu.shuffle left %f, %i, %i : f32
//                     ^ P001
  return
}

// -----

// a rotation is below the width
func.func @f(%f: f32) {
  %r, %s = gpu.rotate %f, 4, 4 : f32
//         ^ V016
  return
}

// -----

// a specific lane is named
func.func @f(%f: f32) {
  %r = gpu.subgroup_broadcast %f, specific_lane : f32
//     ^ V016
  return
}

// -----

// one size per unknown extent
func.func @f(%n: index) {
  %r = gpu.alloc () : memref<?xf32>
//     ^ V016
  return
}

// -----

// copied buffers hold the same elements
func.func @f(%a: memref<?xf32>, %b: memref<?xi32>) {
  gpu.memcpy %a, %b : memref<?xf32>, memref<?xi32>
//^ V016
  return
}

// -----

// copied buffers have one shape
func.func @f(%a: memref<4xf32>, %b: memref<5xf32>) {
  gpu.memcpy %a, %b : memref<4xf32>, memref<5xf32>
//^ V016
  return
}

// -----

// a buffer is filled with an element
func.func @f(%a: memref<4xf32>, %b: f64) {
  gpu.memset %a, %b : memref<4xf32>, f64
//^ V016
  return
}

// -----

// dynamic memory is of the workgroup
func.func @f(%a: index) {
  %r = gpu.dynamic_shared_memory : memref<?xi8>
//     ^ V016
  return
}

// -----

// what is stored is an accumulator
func.func @f(%m: !gpu.mma_matrix<16x16xf16, "AOp">, %d: memref<32x32xf16>, %n: index) {
  gpu.subgroup_mma_store_matrix %m, %d[%n, %n] leadDimension 32 : !gpu.mma_matrix<16x16xf16, "AOp">, memref<32x32xf16>
//^ V016
  return
}

// -----

// rows and columns of factors agree
func.func @f(%a: !gpu.mma_matrix<16x16xf16, "AOp">, %b: !gpu.mma_matrix<8x16xf16, "BOp">, %c: !gpu.mma_matrix<16x16xf16, "COp">) {
  %r = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<8x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
//     ^ V016
  return
}

// -----

// a launch's buffers are memrefs
func.func @f(%n: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%x = %n, %y = %n, %z = %n) workgroup(%w: f32) { gpu.terminator }
//^ V016
  return
}

// -----

// a launch's sizes are indices
func.func @f(%n: i32) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%x = %n, %y = %n, %z = %n) { gpu.terminator }
//                                           ^ P014
  return
}

// -----

// a lane has an equal part of the whole
func.func @f(%l: index, %v: vector<64xf32>) {
  %r = gpu.warp_execute_on_lane_0(%l)[32] -> (vector<4xf32>) { gpu.yield %v : vector<64xf32> }
//     ^ V016
  return
}

// -----

// tiles are read from the workgroup's memory
func.func @f(%m: memref<?x?xf16>, %n: index) {
  %r = nvgpu.ldmatrix %m[%n, %n] numTiles = 4 transpose = true : memref<?x?xf16> -> vector<4x2xf16>
//     ^ V016
  return
}

// -----

// one register per tile
func.func @f(%m: memref<?x?xf16, 3>, %n: index) {
  %r = nvgpu.ldmatrix %m[%n, %n] numTiles = 2 transpose = true : memref<?x?xf16, 3> -> vector<4x2xf16>
//     ^ V016
  return
}

// -----

// lanes hold the whole matrix
func.func @f(%a: vector<4x2xf16>, %b: vector<1x2xf16>, %c: vector<2x2xf32>) {
  %r = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<1x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
//     ^ V016
  return
}

// -----

// a copy is to the workgroup's memory
func.func @f(%s: memref<16xf32>, %n: index) {
  %r = nvgpu.device_async_copy %s[%n], %s[%n], 4 : memref<16xf32> to memref<16xf32>
//     ^ V016
  return
}

// -----

// a copy is of 4, 8 or 16 bytes
func.func @f(%s: memref<16xf32>, %d: memref<16xf32, 3>, %n: index) {
  %r = nvgpu.device_async_copy %s[%n], %d[%n], 5 : memref<16xf32> to memref<16xf32, 3>
//     ^ V016
  return
}
