// name: transfer reads with padding
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f0 = arith.constant 0.0 : f32
  %fm = arith.constant -42.0 : f32
  %A = memref.alloc() : memref<5xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    %k = arith.index_cast %i : index to i32
    %x = arith.sitofp %k : i32 to f32
    memref.store %x, %A[%i] : memref<5xf32>
  }
  %c4 = arith.constant 4 : index
  memref.store %f0, %A[%c3] : memref<5xf32>
  memref.store %f0, %A[%c4] : memref<5xf32>
  %v = vector.transfer_read %A[%c1], %fm {permutation_map = affine_map<(d0) -> (d0)>} : memref<5xf32>, vector<8xf32>
  vector.print %v : vector<8xf32>
  %w = vector.transfer_read %A[%c1], %fm : memref<5xf32>, vector<4xf32>
  vector.print %w : vector<4xf32>
  memref.dealloc %A : memref<5xf32>
  return
}
// > ( 1, 2, 0, 0, -42, -42, -42, -42 )
// > ( 1, 2, 0, 0 )
// -----
// name: transfer reads that turn and spread
memref.global "private" @data : memref<3x4xf32> = dense<[[0.0, 1.0, 2.0, 3.0], [10.0, 11.0, 12.0, 13.0], [20.0, 21.0, 22.0, 23.0]]>
func.func @show(%A: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant -1.0 : f32
  %a = vector.transfer_read %A[%c0, %c0], %pad {permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<?x?xf32>, vector<4x3xf32>
  vector.print %a : vector<4x3xf32>
  %b = vector.transfer_read %A[%c1, %c2], %pad {permutation_map = affine_map<(d0, d1) -> (d0, d1)>} : memref<?x?xf32>, vector<2x3xf32>
  vector.print %b : vector<2x3xf32>
  %c = vector.transfer_read %A[%c2, %c1], %pad {in_bounds = [true, false], permutation_map = affine_map<(d0, d1) -> (0, d1)>} : memref<?x?xf32>, vector<2x2xf32>
  vector.print %c : vector<2x2xf32>
  return
}
func.func @main() {
  %g = memref.get_global @data : memref<3x4xf32>
  %A = memref.cast %g : memref<3x4xf32> to memref<?x?xf32>
  call @show(%A) : (memref<?x?xf32>) -> ()
  return
}
// > ( ( 0, 10, 20 ), ( 1, 11, 21 ), ( 2, 12, 22 ), ( 3, 13, 23 ) )
// > ( ( 12, 13, -1 ), ( 22, 23, -1 ) )
// > ( ( 21, 22 ), ( 21, 22 ) )
// -----
// name: masks
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = vector.constant_mask [4] : vector<8xi1>
  vector.print %0 : vector<8xi1>
  %1 = vector.constant_mask [1, 3] : vector<4x4xi1>
  vector.print %1 : vector<4x4xi1>
  %2 = vector.create_mask %c2, %c3 : vector<3x4xi1>
  vector.print %2 : vector<3x4xi1>
  %neg = arith.constant -1 : index
  %3 = vector.create_mask %neg : vector<4xi1>
  vector.print %3 : vector<4xi1>
  %big = arith.constant 10 : index
  %4 = vector.create_mask %big : vector<4xi1>
  vector.print %4 : vector<4xi1>
  %5 = vector.create_mask %c1, %c2, %c1 : vector<2x2x2xi1>
  vector.print %5 : vector<2x2x2xi1>
  return
}
// > ( 1, 1, 1, 1, 0, 0, 0, 0 )
// > ( ( 1, 1, 1, 0 ), ( 0, 0, 0, 0 ), ( 0, 0, 0, 0 ), ( 0, 0, 0, 0 ) )
// > ( ( 1, 1, 1, 0 ), ( 1, 1, 1, 0 ), ( 0, 0, 0, 0 ) )
// > ( 0, 0, 0, 0 )
// > ( 1, 1, 1, 1 )
// > ( ( ( 1, 0 ), ( 1, 0 ) ), ( ( 0, 0 ), ( 0, 0 ) ) )
// -----
// name: maskedload and maskedstore
func.func @maskedload16(%base: memref<?xf32>, %mask: vector<16xi1>, %pass: vector<16xf32>) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %ld = vector.maskedload %base[%c0], %mask, %pass : memref<?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  return %ld : vector<16xf32>
}
func.func @maskedstore4(%base: memref<?xf32>, %mask: vector<4xi1>, %v: vector<4xf32>) {
  %c2 = arith.constant 2 : index
  vector.maskedstore %base[%c2], %mask, %v : memref<?xf32>, vector<4xi1>, vector<4xf32>
  return
}
func.func @entry() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %A = memref.alloc(%c16) : memref<?xf32>
  scf.for %i = %c0 to %c16 step %c1 {
    %i32 = arith.index_cast %i : index to i32
    %fi = arith.sitofp %i32 : i32 to f32
    memref.store %fi, %A[%i] : memref<?xf32>
  }
  %pass = arith.constant dense<-7.0> : vector<16xf32>
  %none = vector.constant_mask [0] : vector<16xi1>
  %some = vector.constant_mask [6] : vector<16xi1>
  %1 = call @maskedload16(%A, %none, %pass) : (memref<?xf32>, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
  vector.print %1 : vector<16xf32>
  %2 = call @maskedload16(%A, %some, %pass) : (memref<?xf32>, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
  vector.print %2 : vector<16xf32>
  %v = arith.constant dense<[100.0, 101.0, 102.0, 103.0]> : vector<4xf32>
  %m = arith.constant dense<[true, false, true, true]> : vector<4xi1>
  call @maskedstore4(%A, %m, %v) : (memref<?xf32>, vector<4xi1>, vector<4xf32>) -> ()
  %f0 = arith.constant 0.0 : f32
  %3 = vector.transfer_read %A[%c0], %f0 : memref<?xf32>, vector<8xf32>
  vector.print %3 : vector<8xf32>
  memref.dealloc %A : memref<?xf32>
  return
}
// > ( -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7 )
// > ( 0, 1, 2, 3, 4, 5, -7, -7, -7, -7, -7, -7, -7, -7, -7, -7 )
// > ( 0, 1, 100, 3, 102, 103, 6, 7 )
// -----
// name: expandload and compressstore
func.func @main() {
  %c0 = arith.constant 0 : index
  %A = memref.alloc() : memref<8xf32>
  %v = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : vector<8xf32>
  vector.store %v, %A[%c0] : memref<8xf32>, vector<8xf32>
  %m = arith.constant dense<[false, true, true, false, true, false, false, true]> : vector<8xi1>
  %p = arith.constant dense<-1.0> : vector<8xf32>
  %e = vector.expandload %A[%c0], %m, %p : memref<8xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.print %e : vector<8xf32>
  vector.compressstore %A[%c0], %m, %v : memref<8xf32>, vector<8xi1>, vector<8xf32>
  %r = vector.load %A[%c0] : memref<8xf32>, vector<8xf32>
  vector.print %r : vector<8xf32>
  memref.dealloc %A : memref<8xf32>
  return
}
// > ( -1, 0, 1, -1, 2, -1, -1, 3 )
// > ( 1, 2, 4, 7, 4, 5, 6, 7 )
// -----
// name: gather and scatter
func.func @gather8(%base: memref<?xf32>, %idx: vector<8xi32>, %mask: vector<8xi1>, %pass: vector<8xf32>) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %g = vector.gather %base[%c0][%idx], %mask, %pass : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  return %g : vector<8xf32>
}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %A = memref.alloc(%c10) : memref<?xf32>
  scf.for %i = %c0 to %c10 step %c1 {
    %i32 = arith.index_cast %i : index to i32
    %fi = arith.sitofp %i32 : i32 to f32
    memref.store %fi, %A[%i] : memref<?xf32>
  }
  %idx = arith.constant dense<[0, 6, 1, 3, 5, 4, 9, 2]> : vector<8xi32>
  %mask = arith.constant dense<[true, true, false, true, true, true, true, false]> : vector<8xi1>
  %pass = arith.constant dense<-7.0> : vector<8xf32>
  %g = call @gather8(%A, %idx, %mask, %pass) : (memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  vector.print %g : vector<8xf32>
  vector.scatter %A[%c0][%idx], %mask, %pass : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
  %f0 = arith.constant 0.0 : f32
  %r = vector.transfer_read %A[%c0], %f0 : memref<?xf32>, vector<10xf32>
  vector.print %r : vector<10xf32>
  memref.dealloc %A : memref<?xf32>
  return
}
// > ( 0, 6, -7, 3, 5, 4, 9, -7 )
// > ( -7, 1, 2, -7, -7, -7, -7, 7, 8, -7 )
// -----
// name: reductions of integers and floats
func.func @entry() {
  %v = arith.constant dense<[1, -2, 3, -4, 5]> : vector<5xi32>
  %0 = vector.reduction <add>, %v : vector<5xi32> into i32
  vector.print %0 : i32
  %1 = vector.reduction <mul>, %v : vector<5xi32> into i32
  vector.print %1 : i32
  %2 = vector.reduction <minsi>, %v : vector<5xi32> into i32
  vector.print %2 : i32
  %3 = vector.reduction <maxui>, %v : vector<5xi32> into i32
  vector.print %3 : i32
  %4 = vector.reduction <and>, %v : vector<5xi32> into i32
  vector.print %4 : i32
  %5 = vector.reduction <xor>, %v : vector<5xi32> into i32
  vector.print %5 : i32
  %f = arith.constant dense<[1.0, 2.0, 3.0, 4.5]> : vector<4xf32>
  %6 = vector.reduction <add>, %f : vector<4xf32> into f32
  vector.print %6 : f32
  %acc = arith.constant 10.0 : f32
  %7 = vector.reduction <add>, %f, %acc : vector<4xf32> into f32
  vector.print %7 : f32
  %8 = vector.reduction <maximumf>, %f : vector<4xf32> into f32
  vector.print %8 : f32
  %9 = vector.reduction <minnumf>, %f : vector<4xf32> into f32
  vector.print %9 : f32
  return
}
// > 3
// > 120
// > -4
// > -2
// > 0
// > 5
// > 10.5
// > 20.5
// > 4.5
// > 1
// -----
// name: multi_reduction under a mask
func.func @main() {
  %v = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : vector<2x3xf32>
  %acc = arith.constant dense<[10.0, 20.0]> : vector<2xf32>
  %0 = vector.multi_reduction <add>, %v, %acc [1] : vector<2x3xf32> to vector<2xf32>
  vector.print %0 : vector<2xf32>
  %mask = vector.constant_mask [2, 2] : vector<2x3xi1>
  %1 = vector.mask %mask { vector.multi_reduction <add>, %v, %acc [1] : vector<2x3xf32> to vector<2xf32> } : vector<2x3xi1> -> vector<2xf32>
  vector.print %1 : vector<2xf32>
  %s = arith.constant 0.5 : f32
  %2 = vector.multi_reduction <add>, %v, %s [0, 1] : vector<2x3xf32> to f32
  vector.print %2 : f32
  return
}
// > ( 16, 35 )
// > ( 13, 29 )
// > 21.5
// -----
// name: contract as a matrix product
#mm = {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
#mv = {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
#dot = {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
func.func @entry() {
  %f0 = arith.constant 0.0 : f32
  %z = arith.constant dense<0.0> : vector<2x2xf32>
  %z1 = arith.constant dense<1.0> : vector<2xf32>
  %a = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
  %b = arith.constant dense<[3.0, 4.0]> : vector<2xf32>
  %A = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : vector<2x2xf32>
  %B = arith.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : vector<2x2xf32>
  %d = vector.contract #dot %a, %b, %f0 : vector<2xf32>, vector<2xf32> into f32
  vector.print %d : f32
  %v = vector.contract #mv %A, %a, %z1 : vector<2x2xf32>, vector<2xf32> into vector<2xf32>
  vector.print %v : vector<2xf32>
  %m = vector.contract #mm %A, %B, %z : vector<2x2xf32>, vector<2x2xf32> into vector<2x2xf32>
  vector.print %m : vector<2x2xf32>
  return
}
// > 11
// > ( 6, 12 )
// > ( ( 19, 22 ), ( 43, 50 ) )
// -----
// name: outer products with kinds
func.func @main() {
  %a = arith.constant dense<[1.0, 2.0, 3.0]> : vector<3xf32>
  %b = arith.constant dense<[10.0, -1.0]> : vector<2xf32>
  %acc = arith.constant dense<5.0> : vector<3x2xf32>
  %0 = vector.outerproduct %a, %b : vector<3xf32>, vector<2xf32>
  vector.print %0 : vector<3x2xf32>
  %1 = vector.outerproduct %a, %b, %acc : vector<3xf32>, vector<2xf32>
  vector.print %1 : vector<3x2xf32>
  %2 = vector.outerproduct %a, %b, %acc {kind = #vector.kind<maxnumf>} : vector<3xf32>, vector<2xf32>
  vector.print %2 : vector<3x2xf32>
  %s = arith.constant 2.0 : f32
  %3 = vector.outerproduct %a, %s : vector<3xf32>, f32
  vector.print %3 : vector<3xf32>
  return
}
// > ( ( 10, -1 ), ( 20, -2 ), ( 30, -3 ) )
// > ( ( 15, 4 ), ( 25, 3 ), ( 35, 2 ) )
// > ( ( 10, 5 ), ( 20, 5 ), ( 30, 5 ) )
// > ( 2, 4, 6 )
// -----
// name: shuffles, interleaving, slices
func.func @main() {
  %a = arith.constant dense<[0, 1, 2, 3]> : vector<4xi32>
  %b = arith.constant dense<[10, 11, 12, 13]> : vector<4xi32>
  %0 = vector.shuffle %a, %b [0, 4, 7, 3, 1] : vector<4xi32>, vector<4xi32>
  vector.print %0 : vector<5xi32>
  %1 = vector.interleave %a, %b : vector<4xi32> -> vector<8xi32>
  vector.print %1 : vector<8xi32>
  %2, %3 = vector.deinterleave %1 : vector<8xi32> -> vector<4xi32>
  vector.print %2 : vector<4xi32>
  vector.print %3 : vector<4xi32>
  %4 = vector.extract_strided_slice %1 {offsets = [2], sizes = [3], strides = [1]} : vector<8xi32> to vector<3xi32>
  vector.print %4 : vector<3xi32>
  %5 = vector.insert_strided_slice %a, %1 {offsets = [3], strides = [1]} : vector<4xi32> into vector<8xi32>
  vector.print %5 : vector<8xi32>
  %c = vector.shape_cast %1 : vector<8xi32> to vector<2x4xi32>
  %6 = vector.transpose %c, [1, 0] : vector<2x4xi32> to vector<4x2xi32>
  vector.print %6 : vector<4x2xi32>
  %7 = vector.shape_cast %6 : vector<4x2xi32> to vector<8xi32>
  vector.print %7 : vector<8xi32>
  return
}
// > ( 0, 10, 13, 3, 1 )
// > ( 0, 10, 1, 11, 2, 12, 3, 13 )
// > ( 0, 1, 2, 3 )
// > ( 10, 11, 12, 13 )
// > ( 1, 11, 2 )
// > ( 0, 10, 1, 0, 1, 2, 3, 13 )
// > ( ( 0, 2 ), ( 10, 12 ), ( 1, 3 ), ( 11, 13 ) )
// > ( 0, 2, 10, 12, 1, 3, 11, 13 )
// -----
// name: scans
func.func @main() {
  %v = arith.constant dense<[[1, 2, 3], [10, 20, 30], [100, 200, 300]]> : vector<3x3xi32>
  %i = arith.constant dense<[1000, 2000, 3000]> : vector<3xi32>
  %0:2 = vector.scan <add>, %v, %i {inclusive = true, reduction_dim = 0 : i64} : vector<3x3xi32>, vector<3xi32>
  vector.print %0#0 : vector<3x3xi32>
  vector.print %0#1 : vector<3xi32>
  %1:2 = vector.scan <add>, %v, %i {inclusive = false, reduction_dim = 1 : i64} : vector<3x3xi32>, vector<3xi32>
  vector.print %1#0 : vector<3x3xi32>
  vector.print %1#1 : vector<3xi32>
  return
}
// > ( ( 1, 2, 3 ), ( 11, 22, 33 ), ( 111, 222, 333 ) )
// > ( 111, 222, 333 )
// > ( ( 1000, 1001, 1003 ), ( 2000, 2010, 2030 ), ( 3000, 3100, 3300 ) )
// > ( 1003, 2030, 3300 )
// -----
// name: elements taken out and put in at run time
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant dense<[3.0, 1.0, 4.0, 1.5]> : vector<4xf32>
  %z = arith.constant dense<0.0> : vector<4xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %z) -> (vector<4xf32>) {
    %x = vector.extract %v[%i] : f32 from vector<4xf32>
    %y = arith.mulf %x, %x : f32
    %c3 = arith.constant 3 : index
    %j = arith.subi %c3, %i : index
    %n = vector.insert %y, %acc [%j] : f32 into vector<4xf32>
    scf.yield %n : vector<4xf32>
  }
  vector.print %r : vector<4xf32>
  %f = vector.from_elements %c0, %c4, %c1 : vector<3xindex>
  vector.print %f : vector<3xindex>
  %w = vector.bitcast %v : vector<4xf32> to vector<4xi32>
  vector.print %w : vector<4xi32>
  return
}
// > ( 2.25, 16, 1, 9 )
// > ( 0, 4, 1 )
// > ( 1077936128, 1065353216, 1082130432, 1069547520 )
// -----
// name: fma and flat transposes
func.func @main() {
  %a = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
  %two = arith.constant 2.0 : f32
  %b = vector.broadcast %two : f32 to vector<4xf32>
  %c = vector.fma %a, %b, %a : vector<4xf32>
  vector.print %c : vector<4xf32>
  %sel = arith.cmpf ogt, %c, %b : vector<4xf32>
  vector.print %sel : vector<4xi1>
  %d = arith.select %sel, %a, %b : vector<4xi1>, vector<4xf32>
  vector.print %d : vector<4xf32>
  %e = math.sqrt %d : vector<4xf32>
  %t = arith.fptosi %e : vector<4xf32> to vector<4xi32>
  vector.print %t : vector<4xi32>
  return
}
// > ( 3, 6, 9, 12 )
// > ( 1, 1, 1, 1 )
// > ( 1, 2, 3, 4 )
// > ( 1, 1, 1, 2 )
// -----
// name: written through transfers under masks
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %f0 = arith.constant 0.0 : f32
  %A = memref.alloc() : memref<3x6xf32>
  linalg.fill ins(%f0 : f32) outs(%A : memref<3x6xf32>)
  %v = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : vector<2x3xf32>
  vector.transfer_write %v, %A[%c0, %c1] : vector<2x3xf32>, memref<3x6xf32>
  %m = vector.constant_mask [1, 2] : vector<2x3xi1>
  vector.transfer_write %v, %A[%c1, %c1], %m : vector<2x3xf32>, memref<3x6xf32>
  %w = arith.constant dense<[7.0, 8.0, 9.0]> : vector<3xf32>
  vector.transfer_write %w, %A[%c0, %c5] {permutation_map = affine_map<(d0, d1) -> (d0)>} : vector<3xf32>, memref<3x6xf32>
  %r = vector.transfer_read %A[%c0, %c0], %f0 : memref<3x6xf32>, vector<3x6xf32>
  vector.print %r : vector<3x6xf32>
  return
}
// > ( ( 0, 1, 2, 3, 0, 7 ), ( 0, 1, 2, 6, 0, 8 ), ( 0, 0, 0, 0, 0, 9 ) )
