// Every clause of every operation of vector.
func.func @broadcast(%f: f32) {
  %r = vector.broadcast %f : f32 to vector<4xf32>
  return
}

func.func @broadcast_2(%f: f32) {
  %r = vector.broadcast %f : f32 to vector<f32>
  return
}

func.func @broadcast_3(%f: f32) {
  %r = vector.broadcast %f {a = 1 : i32} : f32 to vector<4x[4]xf32>
  return
}

func.func @broadcast_4(%f: vector<4x1xf32>) {
  %r = vector.broadcast %f : vector<4x1xf32> to vector<2x4x8xf32>
  return
}

func.func @broadcast_5(%f: vector<[4]xf32>) {
  %r = vector.broadcast %f : vector<[4]xf32> to vector<2x[4]xf32>
  return
}

func.func @broadcast_6(%f: vector<f32>) {
  %r = vector.broadcast %f : vector<f32> to vector<2xf32>
  return
}

func.func @broadcast_7(%f: index) {
  %r = vector.broadcast %f : index to vector<2xindex>
  return
}

func.func @broadcast_8(%f: !llvm.ptr) {
  %r = vector.broadcast %f : !llvm.ptr to vector<2x!llvm.ptr>
  return
}

func.func @contract(%a: vector<4x3xf32>, %b: vector<3x7xf32>, %c: vector<4x7xf32>) {
  %r = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} %a, %b, %c : vector<4x3xf32>, vector<3x7xf32> into vector<4x7xf32>
  return
}

func.func @contract_2(%a: vector<4x3xf32>, %b: vector<3x7xf32>, %c: vector<4x7xf32>) {
  %r = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<4x3xf32>, vector<3x7xf32> into vector<4x7xf32>
  return
}

func.func @contract_3(%a: vector<4x3xf32>, %b: vector<3x7xf32>, %c: vector<4x7xf32>) {
  %r = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<maxnumf>, x = 2} %a, %b, %c : vector<4x3xf32>, vector<3x7xf32> into vector<4x7xf32>
  return
}

func.func @contract_4(%a: vector<4x3xf16>, %b: vector<3x7xf16>, %c: vector<4x7xf32>) {
  %r = vector.contract {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<maximumf>, x = 2} %a, %b, %c : vector<4x3xf16>, vector<3x7xf16> into vector<4x7xf32>
  return
}

func.func @contract_5(%a: vector<4xf32>, %b: vector<4xf32>, %c: f32) {
  %r = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<mul>} %a, %b, %c : vector<4xf32>, vector<4xf32> into f32
  return
}

func.func @contract_6(%a: vector<4xf32>, %b: vector<4xf32>, %c: f32) {
  %r = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<mul>, fastmath = #arith.fastmath<fast>} %a, %b, %c : vector<4xf32>, vector<4xf32> into f32
  return
}

func.func @contract_7(%a: vector<4xf32>, %b: vector<4xf32>, %c: f32) {
  %r = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} %a, %b, %c : vector<4xf32>, vector<4xf32> into f32
  return
}

func.func @reduction(%a: vector<4xf32>, %b: f32) {
  %r = vector.reduction <add>, %a : vector<4xf32> into f32
  return
}

func.func @reduction_2(%a: vector<4xf32>, %b: f32) {
  %r = vector.reduction <minnumf>, %a : vector<4xf32> into f32
  return
}

func.func @reduction_3(%a: vector<4xf32>, %b: f32) {
  %r = vector.reduction <maximumf>, %a, %b : vector<4xf32> into f32
  return
}

func.func @reduction_4(%a: vector<4xf32>, %b: f32) {
  %r = vector.reduction <maximumf>, %a, %b fastmath<nnan,ninf> {a} : vector<4xf32> into f32
  return
}

func.func @reduction_5(%a: vector<f32>, %b: f32) {
  %r = vector.reduction <add>, %a : vector<f32> into f32
  return
}

func.func @reduction_6(%a: vector<[4]xi32>, %b: i32) {
  %r = vector.reduction <xor>, %a, %b : vector<[4]xi32> into i32
  return
}

func.func @multi_reduction(%a: vector<4x8x16xf32>, %b: vector<4x16xf32>) {
  %r = vector.multi_reduction <mul>, %a, %b [1] : vector<4x8x16xf32> to vector<4x16xf32>
  return
}

func.func @multi_reduction_2(%a: vector<4x8x16xf32>, %b: vector<4x16xf32>) {
  %r = vector.multi_reduction <mul>, %a, %b {a = 1 : i32} [1] : vector<4x8x16xf32> to vector<4x16xf32>
  return
}

func.func @multi_reduction_3(%a: vector<4x8x16xf32>, %b: f32) {
  %r = vector.multi_reduction <add>, %a, %b [0, 1, 2] : vector<4x8x16xf32> to f32
  return
}

func.func @multi_reduction_4(%a: vector<4x8x16xf32>, %b: vector<4x8x16xf32>) {
  %r = vector.multi_reduction <add>, %a, %b [] : vector<4x8x16xf32> to vector<4x8x16xf32>
  return
}

func.func @extract(%a: vector<4x8xf32>, %i: index) {
  %r = vector.extract %a[1] : vector<8xf32> from vector<4x8xf32>
  return
}

func.func @extract_2(%a: vector<4x8xf32>, %i: index) {
  %r = vector.extract %a[] : vector<4x8xf32> from vector<4x8xf32>
  return
}

func.func @extract_3(%a: vector<4x8xf32>, %i: index) {
  %r = vector.extract %a[%i, 3] {a} : f32 from vector<4x8xf32>
  return
}

func.func @extract_4(%a: vector<4x8xf32>, %i: index) {
  %r = vector.extract %a[-1] : vector<8xf32> from vector<4x8xf32>
  return
}

func.func @extract_5(%a: vector<f32>, %i: index) {
  %r = vector.extract %a[] : f32 from vector<f32>
  return
}

func.func @extract_6(%a: vector<4x1xf32>, %i: index) {
  %r = vector.extract %a[2, 0] : f32 from vector<4x1xf32>
  return
}

func.func @extract_7(%a: vector<4x1xf32>, %i: index) {
  %r = vector.extract %a[2] : vector<1xf32> from vector<4x1xf32>
  return
}

func.func @insert(%a: vector<f32>, %i: f32) {
  %r = vector.insert %i, %a[] : f32 into vector<f32>
  return
}

func.func @insert_2(%a: vector<4x8xf32>, %i: f32) {
  %r = vector.insert %i, %a[3, 4] : f32 into vector<4x8xf32>
  return
}

func.func @insert_3(%a: vector<4x8xf32>, %i: vector<8xf32>, %n: index) {
  %r = vector.insert %i, %a[%n] : vector<8xf32> into vector<4x8xf32>
  return
}

func.func @insert_4(%a: vector<4x8xf32>, %i: vector<8xf32>, %n: index) {
  %r = vector.insert %i, %a[-1] : vector<8xf32> into vector<4x8xf32>
  return
}

func.func @insert_5(%a: vector<4x8xf32>, %n: index) {
  %r = vector.insert %a, %a[] : vector<4x8xf32> into vector<4x8xf32>
  return
}

func.func @extract_strided_slice(%a: vector<4x8xf32>) {
  %r = vector.extract_strided_slice %a offsets = [2], sizes = [2], strides = [1] : vector<4x8xf32> to vector<2x8xf32>
  return
}

func.func @extract_strided_slice_2(%a: vector<4x[8]xf32>) {
  %r = vector.extract_strided_slice %a offsets = [2], sizes = [2], strides = [1] : vector<4x[8]xf32> to vector<2x[8]xf32>
  return
}

func.func @extract_strided_slice_3(%a: vector<4x8xf32>) {
  %r = vector.extract_strided_slice %a offsets = [0, 2], sizes = [1, 2], strides = [1, 1] {z} : vector<4x8xf32> to vector<1x2xf32>
  return
}

func.func @insert_strided_slice(%a: vector<2x4xf32>, %b: vector<16x4x8xf32>) {
  %r = vector.insert_strided_slice %a, %b offsets = [0, 0, 2], strides = [1, 1] : vector<2x4xf32> into vector<16x4x8xf32>
  return
}

func.func @scalable_insert(%a: vector<8xf32>, %b: vector<[4]xf32>) {
  %r = vector.scalable.insert %a, %b[8] : vector<8xf32> into vector<[4]xf32>
  return
}

func.func @scalable_extract(%a: vector<[16]xf32>, %b: vector<[4]xf32>) {
  %r = vector.scalable.extract %a[4] : vector<4xf32> from vector<[16]xf32>
  return
}

func.func @interleave(%a: vector<4x[4]xf32>) {
  %r = vector.interleave %a, %a : vector<4x[4]xf32> -> vector<4x[8]xf32>
  return
}

func.func @deinterleave(%a: vector<8xf32>) {
  %r, %s = vector.deinterleave %a : vector<8xf32> -> vector<4xf32>
  return
}

func.func @outerproduct(%a: vector<8xf32>, %b: vector<4xf32>) {
  %r = vector.outerproduct %a, %b : vector<8xf32>, vector<4xf32>
  return
}

func.func @outerproduct_2(%a: vector<8xf32>, %b: f32) {
  %r = vector.outerproduct %a, %b : vector<8xf32>, f32
  return
}

func.func @outerproduct_3(%a: vector<8xf32>, %b: f32) {
  %r = vector.outerproduct %a, %b, %a {kind = #vector.kind<maxnumf>} : vector<8xf32>, f32
  return
}

func.func @outerproduct_4(%a: vector<8xf32>, %b: vector<4xf32>, %c: vector<8x4xf32>) {
  %r = vector.outerproduct %a, %b, %c : vector<8xf32>, vector<4xf32>
  return
}

func.func @outerproduct_5(%a: vector<8xf32>, %b: vector<[4]xf32>, %c: vector<8x[4]xf32>) {
  %r = vector.outerproduct %a, %b, %c {b, kind = #vector.kind<mul>} : vector<8xf32>, vector<[4]xf32>
  return
}

func.func @outerproduct_6(%a: vector<[8]xf32>, %b: vector<[4]xf32>, %c: vector<[8]x[4]xf32>) {
  %r = vector.outerproduct %a, %b, %c : vector<[8]xf32>, vector<[4]xf32>
  return
}

func.func @fma(%a: vector<8x4xf32>) {
  %r = vector.fma %a, %a, %a {b} : vector<8x4xf32>
  return
}

func.func @load(%m: memref<?x?xf32>, %i: index) {
  %r = vector.load %m[%i, %i] : memref<?x?xf32>, vector<8xf32>
  return
}

func.func @load_2(%m: memref<?x?xf32>, %i: index) {
  %r = vector.load %m[%i, %i] nontemporal = true : memref<?x?xf32>, vector<8xf32>
  return
}

func.func @load_3(%m: memref<?x?xf32>, %i: index) {
  %r = vector.load %m[%i, %i] : memref<?x?xf32>, vector<8xf32>
  return
}

func.func @load_4(%m: memref<?x?xf32>, %i: index) {
  %r = vector.load %m[%i, %i] alignment = 8 : memref<?x?xf32>, vector<8xf32>
  return
}

func.func @load_5(%m: memref<?x?xf32>, %i: index) {
  %r = vector.load %m[%i, %i] alignment = 8 nontemporal = true : memref<?x?xf32>, vector<8xf32>
  return
}

func.func @load_6(%m: memref<200x100xvector<8xf32>>, %i: index) {
  %r = vector.load %m[%i, %i] : memref<200x100xvector<8xf32>>, vector<8xf32>
  return
}

func.func @load_7(%m: memref<?xf32>, %i: index) {
  %r = vector.load %m[%i] : memref<?xf32>, vector<f32>
  return
}

func.func @store(%m: memref<?xf32, 3>, %i: index, %v: vector<4xf32>) {
  vector.store %v, %m[%i] : memref<?xf32, 3>, vector<4xf32>
  return
}

func.func @store_2(%m: memref<?xf32, 3>, %i: index, %v: vector<4xf32>) {
  vector.store %v, %m[%i] alignment = 4 nontemporal = true : memref<?xf32, 3>, vector<4xf32>
  return
}

func.func @store_3(%m: memref<200x100xvector<8xf32>>, %i: index, %v: vector<8xf32>) {
  vector.store %v, %m[%i, %i] : memref<200x100xvector<8xf32>>, vector<8xf32>
  return
}

func.func @maskedload(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>) {
  %r = vector.maskedload %m[%i], %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return
}

func.func @maskedload_2(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>) {
  %r = vector.maskedload %m[%i], %k, %v alignment = 8 : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return
}

func.func @maskedload_3(%m: memref<?x?xf32>, %i: index, %v: vector<2x4xf32>, %k: vector<2x4xi1>) {
  %r = vector.maskedload %m[%i, %i], %k, %v : memref<?x?xf32>, vector<2x4xi1>, vector<2x4xf32> into vector<2x4xf32>
  return
}

func.func @maskedstore(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>) {
  vector.maskedstore %m[%i], %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32>
  return
}

func.func @gather(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>, %x: vector<4xi32>) {
  %r = vector.gather %m[%i] [%x], %k, %v : memref<?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return
}

func.func @gather_2(%m: memref<?xf32>, %i: index, %v: vector<2x4xf32>, %k: vector<2x4xi1>, %x: vector<2x4xindex>) {
  %r = vector.gather %m[%i] [%x], %k, %v alignment = 4 {a} : memref<?xf32>, vector<2x4xindex>, vector<2x4xi1>, vector<2x4xf32> into vector<2x4xf32>
  return
}

func.func @gather_3(%m: tensor<?xf32>, %i: index, %v: vector<2x4xf32>, %k: vector<2x4xi1>, %x: vector<2x4xindex>) {
  %r = vector.gather %m[%i] [%x], %k, %v : tensor<?xf32>, vector<2x4xindex>, vector<2x4xi1>, vector<2x4xf32> into vector<2x4xf32>
  return
}

func.func @scatter(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>, %x: vector<4xi32>) {
  vector.scatter %m[%i] [%x], %k, %v : memref<?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32>
  return
}

func.func @scatter_2(%m: tensor<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>, %x: vector<4xi32>) {
  %r = vector.scatter %m[%i] [%x], %k, %v : tensor<?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> -> tensor<?xf32>
  return
}

func.func @expandload(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>) {
  %r = vector.expandload %m[%i], %k, %v : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return
}

func.func @compressstore(%m: memref<?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>) {
  vector.compressstore %m[%i], %k, %v alignment = 8 : memref<?xf32>, vector<4xi1>, vector<4xf32>
  return
}

func.func @transfer_read(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f : memref<?x?xf32>, vector<4xf32>
  return
}

func.func @transfer_read_2(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f : memref<?x?xf32>, vector<4xf32>
  return
}

func.func @transfer_read_3(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<?x?xf32>, vector<4xf32>
  return
}

func.func @transfer_read_4(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f {in_bounds = [true, false], permutation_map = affine_map<(d0, d1) -> (0, d0)>} : memref<?x?xf32>, vector<3x4xf32>
  return
}

func.func @transfer_read_5(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f {permutation_map = affine_map<(d0, d1) -> (0, d0)>} : memref<?x?xf32>, vector<3x4xf32>
  return
}

func.func @transfer_read_6(%m: memref<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f : memref<?x?xf32>, vector<4xf32>
  return
}

func.func @transfer_read_7(%m: memref<?x?xf32>, %i: index, %f: f32, %k: vector<4xi1>) {
  %r = vector.transfer_read %m[%i, %i], %f, %k {in_bounds = [true]} : memref<?x?xf32>, vector<4xf32>
  return
}

func.func @transfer_read_8(%m: memref<?x?xf32>, %i: index, %f: f32, %k: vector<2x4xi1>) {
  %r = vector.transfer_read %m[%i, %i], %f, %k {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<?x?xf32>, vector<4x2xf32>
  return
}

func.func @transfer_read_9(%m: memref<?x?xf32>, %i: index, %f: f32, %k: vector<4xi1>) {
  %r = vector.transfer_read %m[%i, %i], %f, %k {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (0, d1)>} : memref<?x?xf32>, vector<2x4xf32>
  return
}

func.func @transfer_read_10(%m: memref<?x?xvector<4x3xf32>>, %i: index, %f: vector<4x3xf32>) {
  %r = vector.transfer_read %m[%i, %i], %f : memref<?x?xvector<4x3xf32>>, vector<1x1x4x3xf32>
  return
}

func.func @transfer_read_11(%m: memref<?x?xvector<4x3xf32>>, %i: index, %f: vector<4x3xf32>) {
  %r = vector.transfer_read %m[%i, %i], %f {in_bounds = [false, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<?x?xvector<4x3xf32>>, vector<1x1x4x3xf32>
  return
}

func.func @transfer_read_12(%m: memref<?x?xvector<4x3xf32>>, %i: index, %f: vector<4x3xf32>) {
  %r = vector.transfer_read %m[%i, %i], %f : memref<?x?xvector<4x3xf32>>, vector<4x3xf32>
  return
}

func.func @transfer_read_13(%m: tensor<?x?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i, %i], %f : tensor<?x?xf32>, vector<4xf32>
  return
}

func.func @transfer_read_14(%m: tensor<f32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[], %f : tensor<f32>, vector<f32>
  return
}

func.func @transfer_read_15(%m: tensor<?xf32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[%i], %f : tensor<?xf32>, vector<f32>
  return
}

func.func @transfer_read_16(%m: tensor<f32>, %i: index, %f: f32) {
  %r = vector.transfer_read %m[], %f {in_bounds = [true], permutation_map = affine_map<() -> (0)>} : tensor<f32>, vector<1xf32>
  return
}

func.func @transfer_write(%m: memref<?x?xf32>, %i: index, %v: vector<4xf32>) {
  vector.transfer_write %v, %m[%i, %i] : vector<4xf32>, memref<?x?xf32>
  return
}

func.func @transfer_write_2(%m: memref<?x?xf32>, %i: index, %v: vector<4xf32>, %k: vector<4xi1>) {
  vector.transfer_write %v, %m[%i, %i], %k {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : vector<4xf32>, memref<?x?xf32>
  return
}

func.func @transfer_write_3(%m: tensor<?x?xf32>, %i: index, %v: vector<4xf32>) {
  %r = vector.transfer_write %v, %m[%i, %i] {in_bounds = [true]} : vector<4xf32>, tensor<?x?xf32>
  return
}

func.func @transfer_write_4(%m: tensor<f32>, %i: index, %v: vector<f32>) {
  %r = vector.transfer_write %v, %m[] : vector<f32>, tensor<f32>
  return
}

func.func @transfer_write_5(%m: memref<?xvector<4xf32>>, %i: index, %v: vector<1x4xf32>) {
  vector.transfer_write %v, %m[%i] : vector<1x4xf32>, memref<?xvector<4xf32>>
  return
}

func.func @shape_cast(%a: vector<4x8xf32>) {
  %r = vector.shape_cast %a : vector<4x8xf32> to vector<32xf32>
  return
}

func.func @shape_cast_2(%a: vector<4x[8]xf32>) {
  %r = vector.shape_cast %a : vector<4x[8]xf32> to vector<4x1x[8]xf32>
  return
}

func.func @shape_cast_3(%a: vector<1xf32>) {
  %r = vector.shape_cast %a : vector<1xf32> to vector<f32>
  return
}

func.func @bitcast(%a: vector<4x[8]xf32>) {
  %r = vector.bitcast %a : vector<4x[8]xf32> to vector<4x[16]xf16>
  return
}

func.func @bitcast_2(%a: vector<f32>) {
  %r = vector.bitcast %a : vector<f32> to vector<i32>
  return
}

func.func @type_cast(%a: memref<4x8xf32>) {
  %r = vector.type_cast %a : memref<4x8xf32> to memref<vector<4x8xf32>>
  return
}

func.func @type_cast_2(%a: memref<4x8xf32, 3>) {
  %r = vector.type_cast %a {b} : memref<4x8xf32, 3> to memref<vector<4x8xf32>, 3>
  return
}

func.func @create_mask(%a: index) {
  %r = vector.create_mask %a, %a : vector<4x[8]xi1>
  return
}

func.func @create_mask_2(%a: index) {
  %r = vector.create_mask %a : vector<i1>
  return
}

func.func @constant_mask(%a: index) {
  %r = vector.constant_mask [2, 4] {a} : vector<4x[4]xi1>
  return
}

func.func @constant_mask_2(%a: index) {
  %r = vector.constant_mask [1] : vector<i1>
  return
}

func.func @constant_mask_3(%a: index) {
  %r = vector.constant_mask [0] : vector<i1>
  return
}

func.func @constant_mask_4(%a: index) {
  %r = vector.constant_mask [0, 0] : vector<4x4xi1>
  return
}

func.func @mask(%k: vector<8xi1>, %v: vector<8xf32>) {
  %r = vector.mask %k { %0 = vector.reduction <add>, %v : vector<8xf32> into f32 } : vector<8xi1> -> f32
  return
}

func.func @mask_2(%k: vector<8xi1>, %v: vector<8xi32>) {
  vector.mask %k {  } : vector<8xi1>
  return
}

func.func @mask_3(%k: vector<8xi1>, %v: vector<8xi32>) {
  %r = vector.mask %k { vector.yield %v : vector<8xi32> } : vector<8xi1> -> vector<8xi32>
  return
}

func.func @mask_4(%k: vector<8xi1>, %v: vector<8xf32>, %m: memref<?xf32>, %i: index) {
  vector.mask %k { vector.transfer_write %v, %m[%i] : vector<8xf32>, memref<?xf32> } : vector<8xi1>
  return
}

func.func @mask_5(%k: vector<8xi1>, %v: vector<8xf32>, %t: tensor<?xf32>, %i: index) {
  %r = vector.mask %k { %0 = vector.transfer_write %v, %t[%i] : vector<8xf32>, tensor<?xf32> } {a = 1 : i32} : vector<8xi1> -> tensor<?xf32>
  return
}

func.func @mask_6(%k: vector<8xi1>, %f: f32, %t: tensor<?xf32>, %i: index) {
  %r = vector.mask %k { %0 = vector.transfer_read %t[%i], %f : tensor<?xf32>, vector<8xf32> } : vector<8xi1> -> vector<8xf32>
  return
}

func.func @transpose(%a: vector<4x[8]xf32>) {
  %r = vector.transpose %a, [1, 0] : vector<4x[8]xf32> to vector<[8]x4xf32>
  return
}

func.func @transpose_2(%a: vector<f32>) {
  %r = vector.transpose %a, [] : vector<f32> to vector<f32>
  return
}

func.func @print(%a: vector<4x4xf32>, %f: f32) {
  vector.print %a : vector<4x4xf32>
  return
}

func.func @print_2(%a: vector<4x4xf32>, %f: f32) {
  vector.print %f : f32
  return
}

func.func @print_3(%a: vector<4x4xf32>, %f: f32) {
  vector.print %a : vector<4x4xf32> punctuation <comma>
  return
}

func.func @print_4(%a: vector<4x4xf32>, %f: f32) {
  vector.print %f : f32 punctuation <no_punctuation>
  return
}

func.func @print_5(%a: vector<4x4xf32>, %f: f32) {
  vector.print
  return
}

func.func @print_6(%a: vector<4x4xf32>, %f: f32) {
  vector.print
  return
}

func.func @print_7(%a: vector<4x4xf32>, %f: f32) {
  vector.print punctuation <open>
  return
}

func.func @print_8(%a: vector<4x4xf32>, %f: f32) {
  vector.print str "hello"
  return
}

func.func @scan(%a: vector<4x8xf32>, %b: vector<4xf32>) {
  %r:2 = vector.scan <add>, %a, %b reduction_dim = 1, inclusive = true : vector<4x8xf32>, vector<4xf32>
  return
}

func.func @scan_2(%a: vector<8xf32>, %b: vector<f32>) {
  %r:2 = vector.scan <add>, %a, %b reduction_dim = 0, inclusive = false : vector<8xf32>, vector<f32>
  return
}

func.func @step(%a: index) {
  %r = vector.step : vector<4xindex>
  return
}

func.func @step_2(%a: index) {
  %r = vector.step {a} : vector<[4]xindex>
  return
}

func.func @vscale(%a: index) {
  %r = vector.vscale
  return
}

func.func @shuffle(%a: vector<2x4xf32>, %b: vector<3x4xf32>) {
  %r = vector.shuffle %a, %b [0, 4, 3] : vector<2x4xf32>, vector<3x4xf32>
  return
}

func.func @shuffle_2(%a: vector<f32>, %b: vector<f32>) {
  %r = vector.shuffle %a, %b [0, 1, 1] : vector<f32>, vector<f32>
  return
}

func.func @shuffle_3(%a: vector<4xf32>, %b: vector<2xf32>) {
  %r = vector.shuffle %a, %b [0, -1, 5] : vector<4xf32>, vector<2xf32>
  return
}

func.func @from_elements(%f: f32) {
  %r = vector.from_elements %f, %f : vector<2xf32>
  return
}

func.func @from_elements_2(%f: f32) {
  %r = vector.from_elements %f, %f {a} : vector<2x1xf32>
  return
}

func.func @from_elements_3(%f: f32) {
  %r = vector.from_elements %f : vector<f32>
  return
}

func.func @to_elements(%v: vector<2x2xf32>) {
  %r:4 = vector.to_elements %v : vector<2x2xf32>
  return
}

func.func @to_elements_2(%v: vector<f32>) {
  %r = vector.to_elements %v : vector<f32>
  return
}

func.func @to_elements_3(%v: vector<1xf32>) {
  %r = vector.to_elements %v {a} : vector<1xf32>
  return
}
