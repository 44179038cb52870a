// name: a matrix product printed
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @alloc_2d_filled_f32(%m: index, %n: index, %f: f32) -> memref<?x?xf32> {
  %b = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%f : f32) outs(%b : memref<?x?xf32>)
  return %b : memref<?x?xf32>
}
func.func @main() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %f1 = arith.constant 1.0 : f32
  %f2 = arith.constant 2.0 : f32
  %f0 = arith.constant 0.0 : f32
  %A = call @alloc_2d_filled_f32(%c2, %c3, %f1) : (index, index, f32) -> memref<?x?xf32>
  %B = call @alloc_2d_filled_f32(%c3, %c2, %f2) : (index, index, f32) -> memref<?x?xf32>
  %C = call @alloc_2d_filled_f32(%c2, %c2, %f0) : (index, index, f32) -> memref<?x?xf32>
  linalg.matmul ins(%A, %B : memref<?x?xf32>, memref<?x?xf32>) outs(%C : memref<?x?xf32>)
  %u = memref.cast %C : memref<?x?xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %A : memref<?x?xf32>
  memref.dealloc %B : memref<?x?xf32>
  memref.dealloc %C : memref<?x?xf32>
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [2, 2] strides = [2, 1] data = 
// > [[6,   6], 
// >  [6,   6]]
// -----
// name: a convolution with strides and dilations
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c3 = arith.constant 3 : index
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %f2 = arith.constant 2.0 : f32
  %in = memref.alloc() : memref<1x8x1xf32>
  %k = memref.alloc() : memref<3x1x1xf32>
  %out = memref.alloc() : memref<1x2x1xf32>
  linalg.fill ins(%f1 : f32) outs(%in : memref<1x8x1xf32>)
  linalg.fill ins(%f2 : f32) outs(%k : memref<3x1x1xf32>)
  linalg.fill ins(%f0 : f32) outs(%out : memref<1x2x1xf32>)
  %f10 = arith.constant 10.0 : f32
  memref.store %f10, %in[%c0, %c3, %c0] : memref<1x8x1xf32>
  linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<3> : tensor<1xi64>} ins(%in, %k : memref<1x8x1xf32>, memref<3x1x1xf32>) outs(%out : memref<1x2x1xf32>)
  %u = memref.cast %out : memref<1x2x1xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %in : memref<1x8x1xf32>
  memref.dealloc %k : memref<3x1x1xf32>
  memref.dealloc %out : memref<1x2x1xf32>
  return
}
// > Unranked Memref base@ = 0x rank = 3 offset = 0 sizes = [1, 2, 1] strides = [2, 1, 1] data = 
// > [[[6], 
// >   [24]]]
// -----
// name: reinterpret casts
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %in = memref.alloc() : memref<2x3xf32>
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %i32 = arith.index_cast %i : index to i32
      %j32 = arith.index_cast %j : index to i32
      %fi = arith.sitofp %i32 : i32 to f32
      %fj = arith.sitofp %j32 : i32 to f32
      %ten = arith.constant 10.0 : f32
      %a = arith.mulf %fi, %ten : f32
      %x = arith.addf %a, %fj : f32
      memref.store %x, %in[%i, %j] : memref<2x3xf32>
    }
  }
  %u = memref.cast %in : memref<2x3xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  %s = memref.reinterpret_cast %in to offset: [0], sizes: [6, 1], strides: [1, 1] : memref<2x3xf32> to memref<6x1xf32, strided<[1, 1]>>
  %us = memref.cast %s : memref<6x1xf32, strided<[1, 1]>> to memref<*xf32>
  call @printMemrefF32(%us) : (memref<*xf32>) -> ()
  %d = memref.reinterpret_cast %in to offset: [%c1], sizes: [%c2, %c2], strides: [%c3, %c1] : memref<2x3xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %ud = memref.cast %d : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<*xf32>
  call @printMemrefF32(%ud) : (memref<*xf32>) -> ()
  memref.dealloc %in : memref<2x3xf32>
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [2, 3] strides = [3, 1] data = 
// > [[0,   1,   2], 
// >  [10,   11,   12]]
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [6, 1] strides = [1, 1] data = 
// > [[0], 
// >  [1], 
// >  [2], 
// >  [10], 
// >  [11], 
// >  [12]]
// > Unranked Memref base@ = 0x rank = 2 offset = 1 sizes = [2, 2] strides = [3, 1] data = 
// > [[1,   2], 
// >  [11,   12]]
// -----
// name: memref.reshape of unranked memrefs
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @reshape(%in: memref<*xf32>, %shape: memref<?xindex>) {
  %out = memref.reshape %in(%shape) : (memref<*xf32>, memref<?xindex>) -> memref<*xf32>
  call @printMemrefF32(%out) : (memref<*xf32>) -> ()
  return
}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %f = arith.constant 7.5 : f32
  %in = memref.alloc() : memref<2x3xf32>
  linalg.fill ins(%f : f32) outs(%in : memref<2x3xf32>)
  %shape = memref.alloc(%c2) : memref<?xindex>
  memref.store %c3, %shape[%c0] : memref<?xindex>
  memref.store %c2, %shape[%c1] : memref<?xindex>
  %u = memref.cast %in : memref<2x3xf32> to memref<*xf32>
  call @reshape(%u, %shape) : (memref<*xf32>, memref<?xindex>) -> ()
  memref.dealloc %shape : memref<?xindex>
  memref.dealloc %in : memref<2x3xf32>
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [3, 2] strides = [2, 1] data = 
// > [[7.5,   7.5], 
// >  [7.5,   7.5], 
// >  [7.5,   7.5]]
// -----
// name: subviews of subviews
func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
memref.global "private" constant @g : memref<4x5xi32> = dense<[[0, 1, 2, 3, 4], [10, 11, 12, 13, 14], [20, 21, 22, 23, 24], [30, 31, 32, 33, 34]]>
func.func @main() {
  %g = memref.get_global @g : memref<4x5xi32>
  %a = memref.subview %g[1, 1] [3, 4] [1, 1] : memref<4x5xi32> to memref<3x4xi32, strided<[5, 1], offset: 6>>
  %b = memref.subview %a[0, 0] [2, 2] [2, 2] : memref<3x4xi32, strided<[5, 1], offset: 6>> to memref<2x2xi32, strided<[10, 2], offset: 6>>
  %u = memref.cast %b : memref<2x2xi32, strided<[10, 2], offset: 6>> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  %c2 = arith.constant 2 : index
  %r = memref.subview %a[%c2, 0] [1, 4] [1, 1] : memref<3x4xi32, strided<[5, 1], offset: 6>> to memref<4xi32, strided<[1], offset: ?>>
  %v = memref.cast %r : memref<4xi32, strided<[1], offset: ?>> to memref<*xi32>
  call @printMemrefI32(%v) : (memref<*xi32>) -> ()
  %t = memref.transpose %b (i, j) -> (j, i) : memref<2x2xi32, strided<[10, 2], offset: 6>> to memref<2x2xi32, strided<[2, 10], offset: 6>>
  %w = memref.cast %t : memref<2x2xi32, strided<[2, 10], offset: 6>> to memref<*xi32>
  call @printMemrefI32(%w) : (memref<*xi32>) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 6 sizes = [2, 2] strides = [10, 2] data = 
// > [[11,   13], 
// >  [31,   33]]
// > Unranked Memref base@ = 0x rank = 1 offset = 16 sizes = [4] strides = [1] data = 
// > [31,  32,  33,  34]
// > Unranked Memref base@ = 0x rank = 2 offset = 6 sizes = [2, 2] strides = [2, 10] data = 
// > [[11,   31], 
// >  [13,   33]]
// -----
// name: copies between buffers of unlike strides
func.func private @printMemrefF64(memref<*xf64>) attributes {llvm.emit_c_interface}
func.func @main() {
  %f0 = arith.constant 0.0 : f64
  %f1 = arith.constant 1.25 : f64
  %A = memref.alloc() : memref<3x3xf64>
  %B = memref.alloca() : memref<2x2xf64>
  linalg.fill ins(%f0 : f64) outs(%A : memref<3x3xf64>)
  linalg.fill ins(%f1 : f64) outs(%B : memref<2x2xf64>)
  %s = memref.subview %A[1, 0] [2, 2] [1, 2] : memref<3x3xf64> to memref<2x2xf64, strided<[3, 2], offset: 3>>
  memref.copy %B, %s : memref<2x2xf64> to memref<2x2xf64, strided<[3, 2], offset: 3>>
  %u = memref.cast %A : memref<3x3xf64> to memref<*xf64>
  call @printMemrefF64(%u) : (memref<*xf64>) -> ()
  memref.dealloc %A : memref<3x3xf64>
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [3, 3] strides = [3, 1] data = 
// > [[0,   0,   0], 
// >  [1.25,   0,   1.25], 
// >  [1.25,   0,   1.25]]
// -----
// name: dims and ranks of what a function is given
func.func @info(%m: memref<*xf32>) {
  %r = memref.rank %m : memref<*xf32>
  vector.print %r : index
  %c0 = arith.constant 0 : index
  %d = memref.dim %m, %c0 : memref<*xf32>
  vector.print %d : index
  return
}
func.func @main() {
  %c7 = arith.constant 7 : index
  %a = memref.alloc() : memref<4x2xf32>
  %b = memref.alloc(%c7) : memref<?xf32>
  %ua = memref.cast %a : memref<4x2xf32> to memref<*xf32>
  %ub = memref.cast %b : memref<?xf32> to memref<*xf32>
  call @info(%ua) : (memref<*xf32>) -> ()
  call @info(%ub) : (memref<*xf32>) -> ()
  return
}
// > 2
// > 4
// > 1
// > 7
// -----
// name: metadata of a view
func.func @main() {
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<6x8xf32>
  %s = memref.subview %a[%c3, 2] [2, 3] [1, 2] : memref<6x8xf32> to memref<2x3xf32, strided<[8, 2], offset: ?>>
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %s : memref<2x3xf32, strided<[8, 2], offset: ?>> -> memref<f32>, index, index, index, index, index
  vector.print %offset : index
  vector.print %sizes#0 : index
  vector.print %sizes#1 : index
  vector.print %strides#0 : index
  vector.print %strides#1 : index
  return
}
// > 26
// > 2
// > 3
// > 8
// > 2
// -----
// name: atomics
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %a = memref.alloc() : memref<2xi32>
  %z = arith.constant 0 : i32
  memref.store %z, %a[%c0] : memref<2xi32>
  memref.store %z, %a[%c1] : memref<2xi32>
  scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
    %k = arith.index_cast %i : index to i32
    %0 = memref.atomic_rmw addi %k, %a[%c0] : (i32, memref<2xi32>) -> i32
    %1 = memref.atomic_rmw maxs %k, %a[%c1] : (i32, memref<2xi32>) -> i32
    scf.reduce
  }
  %x = memref.load %a[%c0] : memref<2xi32>
  %y = memref.load %a[%c1] : memref<2xi32>
  vector.print %x : i32
  vector.print %y : i32
  return
}
// > 45
// > 9
// -----
// name: old names of printing
func.func private @print_memref_f32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @print_memref_i8(memref<*xi8>) attributes {llvm.emit_c_interface}
func.func @main() {
  %A = memref.alloc() : memref<2xf32>
  %cf1 = arith.constant 1.0 : f32
  linalg.fill ins(%cf1 : f32) outs(%A : memref<2xf32>)
  %u = memref.cast %A : memref<2xf32> to memref<*xf32>
  call @print_memref_f32(%u) : (memref<*xf32>) -> ()
  %B = memref.alloc() : memref<i8>
  %c = arith.constant -3 : i8
  memref.store %c, %B[] : memref<i8>
  %v = memref.cast %B : memref<i8> to memref<*xi8>
  call @print_memref_i8(%v) : (memref<*xi8>) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [2] strides = [1] data = 
// > [1,  1]
// > Unranked Memref base@ = 0x rank = 0 offset = 0 sizes = [] strides = [] data = 
// > [-3]
// -----
// name: memref views of bytes
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  %f = arith.constant 3.5 : f32
  %bytes = memref.alloc() : memref<64xi8>
  %v = memref.view %bytes[%c8][%c2] : memref<64xi8> to memref<?x3xf32>
  linalg.fill ins(%f : f32) outs(%v : memref<?x3xf32>)
  %w = memref.view %bytes[%c8][] : memref<64xi8> to memref<2xf32>
  %u = memref.cast %w : memref<2xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [2] strides = [1] data = 
// > [3.5,  3.5]
// -----
// name: collapse and expand with dynamic extents
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @show(%m: memref<?x?xf32>, %n: index) {
  %c = memref.collapse_shape %m [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  %e = memref.expand_shape %c [[0, 1]] output_shape [%n, 2] : memref<?xf32> into memref<?x2xf32>
  %u = memref.cast %e : memref<?x2xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  return
}
func.func @main() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %f = arith.constant -0.5 : f32
  %m = memref.alloc(%c2, %c3) : memref<?x?xf32>
  linalg.fill ins(%f : f32) outs(%m : memref<?x?xf32>)
  call @show(%m, %c3) : (memref<?x?xf32>, index) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [3, 2] strides = [2, 1] data = 
// > [[-0.5,   -0.5], 
// >  [-0.5,   -0.5], 
// >  [-0.5,   -0.5]]
// -----
// name: realloc keeps what fits
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %f1 = arith.constant 1.0 : f32
  %f2 = arith.constant 2.0 : f32
  %a = memref.alloc() : memref<2xf32>
  memref.store %f1, %a[%c0] : memref<2xf32>
  memref.store %f2, %a[%c1] : memref<2xf32>
  %b = memref.realloc %a : memref<2xf32> to memref<3xf32>
  memref.store %f1, %b[%c2] : memref<3xf32>
  %u = memref.cast %b : memref<3xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %b : memref<3xf32>
  return
}
// > Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [3] strides = [1] data = 
// > [1,  2,  1]
