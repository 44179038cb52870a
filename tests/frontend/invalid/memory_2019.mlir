// an allocation has one size per dynamic extent
func @f() {
  %0 = alloc() : memref<?xf32>
//     ^ V002
  return
}

// -----

// an allocation has no more sizes than dynamic extents
func @f(%n: index) {
  %0 = alloc(%n) : memref<4xf32>
//     ^ V002
  return
}

// -----

// an allocation has one symbol operand per symbol
func @f(%n: index) {
  %0 = alloc(%n) : memref<?xf32, affine_map<(i)[s] -> (i + s)>>
//     ^ V002
  return
}

// -----

// an allocation has no symbol operands without symbols
func @f(%n: index) {
  %0 = alloc()[%n] : memref<4xf32>
//     ^ V002
  return
}

// -----

// sizes are of type index
func @f(%n: i32) {
  %0 = alloc(%n) : memref<?xf32>
//           ^ P014
  return
}

// -----

// an allocation is a memref
func @f() {
  %0 = alloc() : tensor<4xf32>
//     ^ V021
  return
}

// -----

// an allocation is ranked
func @f() {
  %0 = alloc() : memref<*xf32>
//     ^ V021
  return
}

// -----

// a buffer is freed, not a tensor
func @f(%a: tensor<4xf32>) {
  dealloc %a : tensor<4xf32>
//        ^ V021
  return
}

// -----

// a load has one index per dimension
func @f(%m: memref<4x4xf32>, %i: index) {
  %0 = load %m[%i] : memref<4x4xf32>
//     ^ V013
  return
}

// -----

// a load has no more indices than dimensions
func @f(%m: memref<4xf32>, %i: index) {
  %0 = load %m[%i, %i] : memref<4xf32>
//     ^ V013
  return
}

// -----

// indices are of type index
func @f(%m: memref<4xf32>, %i: i32) {
  %0 = load %m[%i] : memref<4xf32>
//             ^ P014
  return
}

// -----

// a load is from a memref
func @f(%m: tensor<4xf32>, %i: index) {
  %0 = load %m[%i] : tensor<4xf32>
//          ^ V021
  return
}

// -----

// a load names the memref's type
func @f(%m: memref<4xf32>, %i: index) {
  %0 = load %m[%i] : memref<4xf64>
//          ^ P014
  return
}

// -----

// a load gives the element type
func @f(%m: memref<4xf32>, %i: index) {
  %0 = "std.load"(%m, %i) : (memref<4xf32>, index) -> f64
//     ^ V001
  return
}

// -----

// a store has one index per dimension
func @f(%m: memref<4x4xf32>, %i: index, %x: f32) {
  store %x, %m[%i] : memref<4x4xf32>
//^ V013
  return
}

// -----

// a store is of the element type
func @f(%m: memref<4xf32>, %i: index, %x: f64) {
  store %x, %m[%i] : memref<4xf32>
//      ^ P014
  return
}

// -----

// a literal that is stored has the element type
func @f(%m: memref<4xi8>, %i: index) {
  store 300 to %m[%i] : memref<4xi8>
//      ^ P012
  return
}

// -----

// a literal index is an integer
func @f(%m: memref<4xf32>) {
  %0 = load %m[1.5] : memref<4xf32>
//             ^ P013
  return
}

// -----

// a cast keeps the element type
func @f(%m: memref<4xf32>) {
  %0 = memref_cast %m : memref<4xf32> to memref<4xf64>
//     ^ V026
  return
}

// -----

// a cast keeps static extents
func @f(%m: memref<4xf32>) {
  %0 = memref_cast %m : memref<4xf32> to memref<5xf32>
//     ^ V026
  return
}

// -----

// a cast keeps the rank
func @f(%m: memref<?xf32>) {
  %0 = memref_cast %m : memref<?xf32> to memref<?x?xf32>
//     ^ V026
  return
}

// -----

// a cast keeps the memory space
func @f(%m: memref<4xf32>) {
  %0 = memref_cast %m : memref<4xf32> to memref<?xf32, 1>
//     ^ V026
  return
}

// -----

// a cast keeps the layout
func @f(%m: memref<4x4xf32>) {
  %0 = memref_cast %m : memref<4x4xf32> to memref<4x4xf32, affine_map<(i, j) -> (j, i)>>
//     ^ V026
  return
}

// -----

// a transfer is between elements of one type
func @f(%a: memref<8xf32>, %b: memref<8xf64, 2>, %t: memref<1xi32, 4>, %i: index) {
  dma_start %a[%i], %b[%i], %i, %t[%i] : memref<8xf32>, memref<8xf64, 2>, memref<1xi32, 4>
//^ V001
  return
}

// -----

// a transfer has one index per dimension of its source
func @f(%a: memref<8x8xf32>, %b: memref<8xf32, 2>, %t: memref<1xi32, 4>, %i: index) {
  dma_start %a[%i], %b[%i], %i, %t[%i] : memref<8x8xf32>, memref<8xf32, 2>, memref<1xi32, 4>
//^ V021
  return
}

// -----

// a transfer names three types
func @f(%a: memref<8xf32>, %b: memref<8xf32, 2>, %t: memref<1xi32, 4>, %i: index) {
  dma_start %a[%i], %b[%i], %i, %t[%i] : memref<8xf32>, memref<8xf32, 2>
  return
//^ P001
}

// -----

// a strided transfer has two numbers
func @f(%a: memref<8xf32>, %b: memref<8xf32, 2>, %t: memref<1xi32, 4>, %i: index) {
  dma_start %a[%i], %b[%i], %i, %t[%i], %i : memref<8xf32>, memref<8xf32, 2>, memref<1xi32, 4>
//^ V002
  return
}

// -----

// a layout of a transfer has the memref's rank
func @f(%t: memref<4x8x, (d0) -> (d0), 4>) {
//                     ^ P001
  return
}

// -----

// a wait has one index per dimension of its tag
func @f(%t: memref<1xi32, 4>, %i: index) {
  dma_wait %t[%i, %i], %i : memref<1xi32, 4>
//^ V013
  return
}

// -----

// a wait counts in an index
func @f(%t: memref<1xi32, 4>, %i: index, %n: i32) {
  dma_wait %t[%i], %n : memref<1xi32, 4>
//                 ^ P014
  return
}

// -----

// a fixed address stands for a static shape
func @f() {
  %0 = alloc_static(0x1232a00) : memref<?xf32>
//     ^ V002
  return
}

// -----

// a fixed address is an integer
func @f() {
  %0 = alloc_static(%a) : memref<4xf32>
//                  ^ P001
  return
}
