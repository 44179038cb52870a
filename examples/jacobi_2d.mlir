// Jacobi iteration on a plane: %T times, the mean of the five-point neighbourhood
// goes from A to B and back.  The boundary stays.
func.func @jacobi_2d(%T: index, %A: memref<?x?xf32>, %B: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %fifth = arith.constant 0.2 : f32
  %H = memref.dim %A, %c0 : memref<?x?xf32>
  %W = memref.dim %A, %c1 : memref<?x?xf32>
  affine.for %t = 0 to %T {
    affine.for %i = 1 to affine_map<()[s0] -> (s0 - 1)>()[%H] {
      affine.for %j = 1 to affine_map<()[s0] -> (s0 - 1)>()[%W] {
        %centre = affine.load %A[%i, %j] : memref<?x?xf32>
        %west = affine.load %A[%i, %j - 1] : memref<?x?xf32>
        %east = affine.load %A[%i, %j + 1] : memref<?x?xf32>
        %north = affine.load %A[%i - 1, %j] : memref<?x?xf32>
        %south = affine.load %A[%i + 1, %j] : memref<?x?xf32>
        %s0 = arith.addf %centre, %west : f32
        %s1 = arith.addf %s0, %east : f32
        %s2 = arith.addf %s1, %north : f32
        %s3 = arith.addf %s2, %south : f32
        %mean = arith.mulf %s3, %fifth : f32
        affine.store %mean, %B[%i, %j] : memref<?x?xf32>
      }
    }
    affine.for %i = 1 to affine_map<()[s0] -> (s0 - 1)>()[%H] {
      affine.for %j = 1 to affine_map<()[s0] -> (s0 - 1)>()[%W] {
        %centre = affine.load %B[%i, %j] : memref<?x?xf32>
        %west = affine.load %B[%i, %j - 1] : memref<?x?xf32>
        %east = affine.load %B[%i, %j + 1] : memref<?x?xf32>
        %north = affine.load %B[%i - 1, %j] : memref<?x?xf32>
        %south = affine.load %B[%i + 1, %j] : memref<?x?xf32>
        %s0 = arith.addf %centre, %west : f32
        %s1 = arith.addf %s0, %east : f32
        %s2 = arith.addf %s1, %north : f32
        %s3 = arith.addf %s2, %south : f32
        %mean = arith.mulf %s3, %fifth : f32
        affine.store %mean, %A[%i, %j] : memref<?x?xf32>
      }
    }
  }
  return
}
