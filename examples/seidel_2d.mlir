// Gauss-Seidel iteration on a plane: %T times, each inner point becomes the mean of its
// nine-point neighbourhood, in place.  No loop is parallel; wavefronts of tiles are.
func.func @seidel_2d(%T: index, %A: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nine = arith.constant 9.0 : f64
  %H = memref.dim %A, %c0 : memref<?x?xf64>
  %W = memref.dim %A, %c1 : memref<?x?xf64>
  affine.for %t = 0 to %T {
    affine.for %i = 1 to affine_map<()[s0] -> (s0 - 1)>()[%H] {
      affine.for %j = 1 to affine_map<()[s0] -> (s0 - 1)>()[%W] {
        %north_west = affine.load %A[%i - 1, %j - 1] : memref<?x?xf64>
        %north = affine.load %A[%i - 1, %j] : memref<?x?xf64>
        %north_east = affine.load %A[%i - 1, %j + 1] : memref<?x?xf64>
        %west = affine.load %A[%i, %j - 1] : memref<?x?xf64>
        %centre = affine.load %A[%i, %j] : memref<?x?xf64>
        %east = affine.load %A[%i, %j + 1] : memref<?x?xf64>
        %south_west = affine.load %A[%i + 1, %j - 1] : memref<?x?xf64>
        %south = affine.load %A[%i + 1, %j] : memref<?x?xf64>
        %south_east = affine.load %A[%i + 1, %j + 1] : memref<?x?xf64>
        %s0 = arith.addf %north_west, %north : f64
        %s1 = arith.addf %s0, %north_east : f64
        %s2 = arith.addf %s1, %west : f64
        %s3 = arith.addf %s2, %centre : f64
        %s4 = arith.addf %s3, %east : f64
        %s5 = arith.addf %s4, %south_west : f64
        %s6 = arith.addf %s5, %south : f64
        %s7 = arith.addf %s6, %south_east : f64
        %mean = arith.divf %s7, %nine : f64
        affine.store %mean, %A[%i, %j] : memref<?x?xf64>
      }
    }
  }
  return
}
