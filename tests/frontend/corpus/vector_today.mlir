// Every operation of vector, as MLIR writes it late in 2026.
func.func @operations(
    %v: vector<4xf32>, %w: vector<4x8xf32>, %f: f32, %n: index, %m: memref<?x?xf32>, %t: tensor<?x?xf32>,
    %mask: vector<4xi1>, %i: vector<4xi32>, %s: vector<[4]xf32>, %c: vector<8xf32>, %mm: memref<4x4xf32>, %z: vector<2x4xf32>) {
  %0 = vector.broadcast %f : f32 to vector<4xf32>
  %1 = vector.extract %w[1] : vector<8xf32> from vector<4x8xf32>
  %2 = vector.extract %w[1, 2] : f32 from vector<4x8xf32>
  %3 = vector.extract %v[%n] : f32 from vector<4xf32>
  %4 = vector.extract %w[%n, 2] : f32 from vector<4x8xf32>
  %5 = vector.extract %w[] : vector<4x8xf32> from vector<4x8xf32>
  %6 = vector.insert %f, %v[2] : f32 into vector<4xf32>
  %7 = vector.insert %f, %w[%n, 3] : f32 into vector<4x8xf32>
  %8 = vector.insert %c, %w[0] : vector<8xf32> into vector<4x8xf32>
  %9 = vector.fma %v, %v, %v : vector<4xf32>
  %10 = vector.outerproduct %v, %c, %w {kind = #vector.kind<add>} : vector<4xf32>, vector<8xf32>
  %11 = vector.outerproduct %v, %f : vector<4xf32>, f32
  %12 = vector.reduction <add>, %v : vector<4xf32> into f32
  %13 = vector.reduction <mul>, %v, %f fastmath<reassoc> : vector<4xf32> into f32
  %14 = vector.multi_reduction <add>, %w, %v [1] : vector<4x8xf32> to vector<4xf32>
  %15 = vector.contract {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %w, %c, %v : vector<4x8xf32>, vector<8xf32> into vector<4xf32>
  %16 = vector.transfer_read %m[%n, %n], %f : memref<?x?xf32>, vector<4x8xf32>
  %17 = vector.transfer_read %t[%n, %n], %f {in_bounds = [true, false], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : tensor<?x?xf32>, vector<4x8xf32>
  vector.transfer_write %w, %m[%n, %n] {in_bounds = [true, true]} : vector<4x8xf32>, memref<?x?xf32>
  %18 = vector.transfer_write %w, %t[%n, %n] : vector<4x8xf32>, tensor<?x?xf32>
  %19 = vector.transfer_read %m[%n, %n], %f, %mask {in_bounds = [true]} : memref<?x?xf32>, vector<4xf32>
  %20 = vector.load %m[%n, %n] : memref<?x?xf32>, vector<8xf32>
  vector.store %c, %m[%n, %n] nontemporal = true : memref<?x?xf32>, vector<8xf32>
  %21 = vector.maskedload %m[%n, %n], %mask, %v : memref<?x?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.maskedstore %m[%n, %n], %mask, %v : memref<?x?xf32>, vector<4xi1>, vector<4xf32>
  %22 = vector.gather %m[%n, %n] [%i], %mask, %v : memref<?x?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.scatter %m[%n, %n] [%i], %mask, %v : memref<?x?xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32>
  %23 = vector.expandload %m[%n, %n], %mask, %v : memref<?x?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.compressstore %m[%n, %n], %mask, %v : memref<?x?xf32>, vector<4xi1>, vector<4xf32>
  %24 = vector.shape_cast %w : vector<4x8xf32> to vector<32xf32>
  %25 = vector.bitcast %v : vector<4xf32> to vector<8xf16>
  %26 = vector.type_cast %mm : memref<4x4xf32> to memref<vector<4x4xf32>>
  %27 = vector.create_mask %n, %n : vector<4x8xi1>
  %28 = vector.constant_mask [2, 3] : vector<4x8xi1>
  %29 = vector.mask %mask { vector.reduction <add>, %v : vector<4xf32> into f32 } : vector<4xi1> -> f32
  %30 = vector.transpose %w, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
  %31 = vector.shuffle %v, %v [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
  %32 = vector.extract_strided_slice %w offsets = [0, 2], sizes = [2, 4], strides = [1, 1] : vector<4x8xf32> to vector<2x4xf32>
  %33 = vector.insert_strided_slice %z, %w offsets = [0, 2], strides = [1, 1] : vector<2x4xf32> into vector<4x8xf32>
  %34 = vector.scalable.insert %v, %s[0] : vector<4xf32> into vector<[4]xf32>
  %35 = vector.scalable.extract %s[0] : vector<4xf32> from vector<[4]xf32>
  %36 = vector.interleave %v, %v : vector<4xf32> -> vector<8xf32>
  %37, %38 = vector.deinterleave %c : vector<8xf32> -> vector<4xf32>
  %39 = vector.vscale
  %40, %41 = vector.scan <add>, %w, %c reduction_dim = 0, inclusive = true : vector<4x8xf32>, vector<8xf32>
  %42 = vector.step : vector<4xindex>
  %43 = vector.from_elements %f, %f : vector<2xf32>
  %44:4 = vector.to_elements %v : vector<4xf32>
  %45 = vector.constant_mask [4] : vector<[4]xi1>
  vector.print %v : vector<4xf32>
  vector.print punctuation <comma>
  vector.print str "x"
  vector.print
  return
}
