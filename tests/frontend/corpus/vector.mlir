func.func @tiles(%A: memref<?x?xf32>, %i: index, %x: f32, %col: vector<3xf32>, %acc: vector<3x4xf32>) -> vector<3x4xf32> {
  %0 = vector.load %A[%i, %i] : memref<?x?xf32>, vector<4xf32>
  vector.store %0, %A[%i, %i] : memref<?x?xf32>, vector<4xf32>
  %1 = vector.broadcast %x : f32 to vector<4xf32>
  %2 = vector.from_elements %x, %x, %x : vector<3xf32>
  %3 = vector.fma %0, %1, %1 : vector<4xf32>
  %4 = vector.outerproduct %2, %3, %acc : vector<3xf32>, vector<4xf32>
  %5 = vector.outerproduct %2, %3 {kind = #vector.kind<mul>} : vector<3xf32>, vector<4xf32>
  %6 = vector.extract %4[1] : vector<4xf32> from vector<3x4xf32>
  %7 = vector.extract %4[1, %i] : f32 from vector<3x4xf32>
  %8 = vector.insert %6, %4[2] : vector<4xf32> into vector<3x4xf32>
  %9 = vector.reduction <add>, %6 : vector<4xf32> into f32
  %10 = vector.reduction <maximumf>, %6, %9 fastmath<fast> : vector<4xf32> into f32
  %11 = vector.transpose %8, [1, 0] : vector<3x4xf32> to vector<4x3xf32>
  %12 = vector.shape_cast %11 : vector<4x3xf32> to vector<12xf32>
  %13 = vector.shuffle %0, %1 [0, 5, 2] : vector<4xf32>, vector<4xf32>
  %14 = vector.transfer_read %A[%i, %i], %x {in_bounds = [true, true]} : memref<?x?xf32>, vector<3x4xf32>
  %15 = vector.transfer_read %A[%i, %i], %x {permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<?x?xf32>, vector<3xf32>
  vector.transfer_write %14, %A[%i, %i] : vector<3x4xf32>, memref<?x?xf32>
  %16 = vector.create_mask %i : vector<4xi1>
  %17 = vector.constant_mask [2, 3] : vector<3x4xi1>
  %18 = vector.maskedload %A[%i, %i], %16, %0 : memref<?x?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.maskedstore %A[%i, %i], %16, %18 : memref<?x?xf32>, vector<4xi1>, vector<4xf32>
  %19 = vector.multi_reduction <add>, %8, %col [1] : vector<3x4xf32> to vector<3xf32>
  %20 = vector.contract {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %8, %0, %col : vector<3x4xf32>, vector<4xf32> into vector<3xf32>
  %21 = vector.extract_strided_slice %8 {offsets = [0, 2], sizes = [2, 2], strides = [1, 1]} : vector<3x4xf32> to vector<2x2xf32>
  %22 = vector.insert_strided_slice %21, %8 {offsets = [0, 0], strides = [1, 1]} : vector<2x2xf32> into vector<3x4xf32>
  vector.print %22 : vector<3x4xf32>
  return %22 : vector<3x4xf32>
}
func.func @scalable(%v: vector<[4]xf32>, %w: vector<4x[8]xi32>, %z: vector<f32>) {
  return
}
