// Heat conduction in a volume: %T times, each inner point takes an eighth of the second
// differences along the three axes, from A to B and back.  The boundary stays.
func.func @heat_3d(%T: index, %A: memref<?x?x?xf32>, %B: memref<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %two = arith.constant 2.0 : f32
  %eighth = arith.constant 0.125 : f32
  %D = memref.dim %A, %c0 : memref<?x?x?xf32>
  %H = memref.dim %A, %c1 : memref<?x?x?xf32>
  %W = memref.dim %A, %c2 : memref<?x?x?xf32>
  affine.for %t = 0 to %T {
    affine.for %i = 1 to affine_map<()[s0] -> (s0 - 1)>()[%D] {
      affine.for %j = 1 to affine_map<()[s0] -> (s0 - 1)>()[%H] {
        affine.for %k = 1 to affine_map<()[s0] -> (s0 - 1)>()[%W] {
          %centre = affine.load %A[%i, %j, %k] : memref<?x?x?xf32>
          %above = affine.load %A[%i - 1, %j, %k] : memref<?x?x?xf32>
          %below = affine.load %A[%i + 1, %j, %k] : memref<?x?x?xf32>
          %north = affine.load %A[%i, %j - 1, %k] : memref<?x?x?xf32>
          %south = affine.load %A[%i, %j + 1, %k] : memref<?x?x?xf32>
          %west = affine.load %A[%i, %j, %k - 1] : memref<?x?x?xf32>
          %east = affine.load %A[%i, %j, %k + 1] : memref<?x?x?xf32>
          %twice = arith.mulf %two, %centre : f32
          %i0 = arith.subf %below, %twice : f32
          %i1 = arith.addf %i0, %above : f32
          %i2 = arith.mulf %i1, %eighth : f32
          %j0 = arith.subf %south, %twice : f32
          %j1 = arith.addf %j0, %north : f32
          %j2 = arith.mulf %j1, %eighth : f32
          %k0 = arith.subf %east, %twice : f32
          %k1 = arith.addf %k0, %west : f32
          %k2 = arith.mulf %k1, %eighth : f32
          %s0 = arith.addf %i2, %j2 : f32
          %s1 = arith.addf %s0, %k2 : f32
          %next = arith.addf %s1, %centre : f32
          affine.store %next, %B[%i, %j, %k] : memref<?x?x?xf32>
        }
      }
    }
    affine.for %i = 1 to affine_map<()[s0] -> (s0 - 1)>()[%D] {
      affine.for %j = 1 to affine_map<()[s0] -> (s0 - 1)>()[%H] {
        affine.for %k = 1 to affine_map<()[s0] -> (s0 - 1)>()[%W] {
          %centre = affine.load %B[%i, %j, %k] : memref<?x?x?xf32>
          %above = affine.load %B[%i - 1, %j, %k] : memref<?x?x?xf32>
          %below = affine.load %B[%i + 1, %j, %k] : memref<?x?x?xf32>
          %north = affine.load %B[%i, %j - 1, %k] : memref<?x?x?xf32>
          %south = affine.load %B[%i, %j + 1, %k] : memref<?x?x?xf32>
          %west = affine.load %B[%i, %j, %k - 1] : memref<?x?x?xf32>
          %east = affine.load %B[%i, %j, %k + 1] : memref<?x?x?xf32>
          %twice = arith.mulf %two, %centre : f32
          %i0 = arith.subf %below, %twice : f32
          %i1 = arith.addf %i0, %above : f32
          %i2 = arith.mulf %i1, %eighth : f32
          %j0 = arith.subf %south, %twice : f32
          %j1 = arith.addf %j0, %north : f32
          %j2 = arith.mulf %j1, %eighth : f32
          %k0 = arith.subf %east, %twice : f32
          %k1 = arith.addf %k0, %west : f32
          %k2 = arith.mulf %k1, %eighth : f32
          %s0 = arith.addf %i2, %j2 : f32
          %s1 = arith.addf %s0, %k2 : f32
          %next = arith.addf %s1, %centre : f32
          affine.store %next, %A[%i, %j, %k] : memref<?x?x?xf32>
        }
      }
    }
  }
  return
}
