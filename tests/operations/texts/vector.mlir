// ----- vector.broadcast vector.reduction
(%a: memref<4xf32>, %x: f32)
affine.for %i = 0 to 4 {
  %v = vector.broadcast %x : f32 to vector<4xf32>
  %y = vector.reduction <add>, %v : vector<4xf32> into f32
  affine.store %y, %a[%i] : memref<4xf32>
}

// ----- vector.from_elements vector.to_elements
(%x: f32, %y: f32) -> f32
%v = vector.from_elements %x, %y : vector<2xf32>
%e:2 = vector.to_elements %v : vector<2xf32>
%r = arith.subf %e#1, %e#0 : f32

// ----- vector.extract vector.insert
(%x: f32, %n: index) -> f32
%z = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
%v = vector.insert %x, %z[2] : f32 into vector<4xf32>
%r = vector.extract %v[%n] : f32 from vector<4xf32>

// ----- vector.extract_strided_slice
(%a: memref<8xf32>, %b: memref<4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<8xf32>, vector<8xf32>
%w = vector.extract_strided_slice %v offsets = [2], sizes = [4], strides = [1] : vector<8xf32> to vector<4xf32>
vector.store %w, %b[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.insert_strided_slice
(%a: memref<8xf32>, %b: memref<4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<8xf32>, vector<8xf32>
%w = vector.load %b[%i] : memref<4xf32>, vector<4xf32>
%u = vector.insert_strided_slice %w, %v offsets = [2], strides = [1] : vector<4xf32> into vector<8xf32>
vector.store %u, %a[%i] : memref<8xf32>, vector<8xf32>

// ----- vector.shuffle
(%a: memref<4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%w = vector.shuffle %v, %v [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
vector.store %w, %a[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.interleave vector.deinterleave
(%a: memref<4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%p, %q = vector.deinterleave %v : vector<4xf32> -> vector<2xf32>
%w = vector.interleave %q, %p : vector<2xf32> -> vector<4xf32>
vector.store %w, %a[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.scalable.insert vector.scalable.extract
(%a: memref<4xf32>)
%i = arith.constant 0 : index
%z = arith.constant dense<0.0> : vector<[4]xf32>
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%s = vector.scalable.insert %v, %z[0] : vector<4xf32> into vector<[4]xf32>
%w = vector.scalable.extract %s[0] : vector<4xf32> from vector<[4]xf32>
%u = arith.addf %w, %w : vector<4xf32>
vector.store %u, %a[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.fma
(%a: memref<4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%w = vector.fma %v, %v, %v : vector<4xf32>
vector.store %w, %a[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.load vector.store
(%a: memref<8xf32>, %b: memref<8xf32>)
affine.for %i = 0 to 8 step 4 {
  %v = vector.load %a[%i] : memref<8xf32>, vector<4xf32>
  vector.store %v, %b[%i] : memref<8xf32>, vector<4xf32>
}

// ----- vector.outerproduct
(%a: memref<4xf32>, %b: memref<4x4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%w = vector.outerproduct %v, %v : vector<4xf32>, vector<4xf32>
%x = vector.extract %w[1] : vector<4xf32> from vector<4x4xf32>
vector.store %x, %b[%i, %i] : memref<4x4xf32>, vector<4xf32>

// ----- vector.contract
(%a: memref<4xf32>) -> f32
%i = arith.constant 0 : index
%z = arith.constant 0.0 : f32
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%r = vector.contract {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<add>} %v, %v, %z : vector<4xf32>, vector<4xf32> into f32

// ----- vector.multi_reduction
(%x: f32) -> f32
%z = arith.constant 0.0 : f32
%v = vector.broadcast %x : f32 to vector<2x4xf32>
%r = vector.multi_reduction <add>, %v, %z [0, 1] : vector<2x4xf32> to f32

// ----- vector.scan
(%a: memref<4xf32>)
%i = arith.constant 0 : index
%z = arith.constant dense<0.0> : vector<f32>
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%w, %l = vector.scan <add>, %v, %z reduction_dim = 0, inclusive = true : vector<4xf32>, vector<f32>
vector.store %w, %a[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.shape_cast
(%a: memref<4xf32>, %b: memref<2xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%w = vector.shape_cast %v : vector<4xf32> to vector<2x2xf32>
%x = vector.extract %w[1] : vector<2xf32> from vector<2x2xf32>
vector.store %x, %b[%i] : memref<2xf32>, vector<2xf32>

// ----- vector.bitcast
(%a: memref<4xf32>, %b: memref<4xi32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%w = vector.bitcast %v : vector<4xf32> to vector<4xi32>
vector.store %w, %b[%i] : memref<4xi32>, vector<4xi32>

// ----- vector.type_cast
(%a: memref<4xf32>, %b: memref<4xf32>)
%i = arith.constant 0 : index
%m = vector.type_cast %a : memref<4xf32> to memref<vector<4xf32>>
%v = memref.load %m[] : memref<vector<4xf32>>
vector.store %v, %b[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.transpose
(%a: memref<2x4xf32>, %b: memref<4x2xf32>)
%i = arith.constant 0 : index
%z = arith.constant 0.0 : f32
%v = vector.transfer_read %a[%i, %i], %z {in_bounds = [true, true]} : memref<2x4xf32>, vector<2x4xf32>
%w = vector.transpose %v, [1, 0] : vector<2x4xf32> to vector<4x2xf32>
vector.transfer_write %w, %b[%i, %i] {in_bounds = [true, true]} : vector<4x2xf32>, memref<4x2xf32>

// ----- vector.create_mask vector.maskedload vector.maskedstore
(%a: memref<4xf32>, %b: memref<4xf32>, %n: index)
%i = arith.constant 0 : index
%z = arith.constant dense<5.0> : vector<4xf32>
%m = vector.create_mask %n : vector<4xi1>
%v = vector.maskedload %a[%i], %m, %z : memref<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
vector.maskedstore %b[%i], %m, %v : memref<4xf32>, vector<4xi1>, vector<4xf32>

// ----- vector.constant_mask vector.expandload vector.compressstore
(%a: memref<4xf32>, %b: memref<4xf32>)
%i = arith.constant 0 : index
%z = arith.constant dense<5.0> : vector<4xf32>
%m = vector.constant_mask [3] : vector<4xi1>
%v = vector.expandload %a[%i], %m, %z : memref<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
vector.compressstore %b[%i], %m, %v : memref<4xf32>, vector<4xi1>, vector<4xf32>

// ----- vector.vscale
() -> index
%r = vector.vscale

// ----- vector.step
(%a: memref<4xindex>)
%i = arith.constant 0 : index
%v = vector.step : vector<4xindex>
vector.store %v, %a[%i] : memref<4xindex>, vector<4xindex>

// ----- vector.print
(%x: f32)
vector.print %x : f32

// ----- vector.gather vector.scatter
(%a: memref<4xf32>, %b: memref<4xf32>)
%i = arith.constant 0 : index
%at = arith.constant dense<[3, 2, 1, 0]> : vector<4xi32>
%m = arith.constant dense<[true, true, false, true]> : vector<4xi1>
%z = arith.constant dense<5.0> : vector<4xf32>
%v = vector.gather %a[%i] [%at], %m, %z : memref<4xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
vector.scatter %b[%i] [%at], %m, %v : memref<4xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32>

// ----- vector.transfer_read vector.transfer_write
(%a: memref<6xf32>, %b: memref<6xf32>)
%i = arith.constant 3 : index
%z = arith.constant 0.0 : f32
%v = vector.transfer_read %a[%i], %z : memref<6xf32>, vector<4xf32>
vector.transfer_write %v, %b[%i] : vector<4xf32>, memref<6xf32>

// ----- vector.mask vector.yield
(%a: memref<4xf32>, %n: index) -> f32
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%m = vector.create_mask %n : vector<4xi1>
%r = "vector.mask"(%m) ({
  %s = vector.reduction <add>, %v : vector<4xf32> into f32
  vector.yield %s : f32
}) : (vector<4xi1>) -> f32

// ----- vector.flat_transpose
(%a: memref<4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%w = vector.flat_transpose %v {columns = 2 : i32, rows = 2 : i32} : vector<4xf32> -> vector<4xf32>
vector.store %w, %a[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.matrix_multiply
(%a: memref<4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%w = vector.matrix_multiply %v, %v {lhs_rows = 2 : i32, lhs_columns = 2 : i32, rhs_columns = 2 : i32} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
vector.store %w, %a[%i] : memref<4xf32>, vector<4xf32>

// ----- vector.tuple vector.tuple_get
(%x: f32, %a: memref<4xf32>)
%i = arith.constant 0 : index
%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>
%t = vector.tuple %v, %v : vector<4xf32>, vector<4xf32>
%w = vector.tuple_get %t, 1 : tuple<vector<4xf32>, vector<4xf32>>
vector.store %w, %a[%i] : memref<4xf32>, vector<4xf32>
