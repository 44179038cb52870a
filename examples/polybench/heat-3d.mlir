// Heat in a cube: T times a step from A to B and one back.
#last = affine_map<()[n] -> (n - 1)>
!cube = memref<?x?x?xf64>

func.func @heat_3d(%T: index, %A: !cube, %B: !cube) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !cube
  %eighth = arith.constant 0.125 : f64
  %two = arith.constant 2.0 : f64
  affine.for %t = 0 to %T {
    affine.for %i = 1 to #last()[%N] {
      affine.for %j = 1 to #last()[%N] {
        affine.for %k = 1 to #last()[%N] {
          %here = affine.load %A[%i, %j, %k] : !cube
          %here2 = arith.mulf %two, %here : f64
          %above = affine.load %A[%i + 1, %j, %k] : !cube
          %below = affine.load %A[%i - 1, %j, %k] : !cube
          %off_i = arith.subf %above, %here2 : f64
          %bend_i = arith.addf %off_i, %below : f64
          %part_i = arith.mulf %eighth, %bend_i : f64
          %north = affine.load %A[%i, %j + 1, %k] : !cube
          %south = affine.load %A[%i, %j - 1, %k] : !cube
          %off_j = arith.subf %north, %here2 : f64
          %bend_j = arith.addf %off_j, %south : f64
          %part_j = arith.mulf %eighth, %bend_j : f64
          %east = affine.load %A[%i, %j, %k + 1] : !cube
          %west = affine.load %A[%i, %j, %k - 1] : !cube
          %off_k = arith.subf %east, %here2 : f64
          %bend_k = arith.addf %off_k, %west : f64
          %part_k = arith.mulf %eighth, %bend_k : f64
          %sum_ij = arith.addf %part_i, %part_j : f64
          %sum_ijk = arith.addf %sum_ij, %part_k : f64
          %next = arith.addf %sum_ijk, %here : f64
          affine.store %next, %B[%i, %j, %k] : !cube
        }
      }
    }
    affine.for %i = 1 to #last()[%N] {
      affine.for %j = 1 to #last()[%N] {
        affine.for %k = 1 to #last()[%N] {
          %here = affine.load %B[%i, %j, %k] : !cube
          %here2 = arith.mulf %two, %here : f64
          %above = affine.load %B[%i + 1, %j, %k] : !cube
          %below = affine.load %B[%i - 1, %j, %k] : !cube
          %off_i = arith.subf %above, %here2 : f64
          %bend_i = arith.addf %off_i, %below : f64
          %part_i = arith.mulf %eighth, %bend_i : f64
          %north = affine.load %B[%i, %j + 1, %k] : !cube
          %south = affine.load %B[%i, %j - 1, %k] : !cube
          %off_j = arith.subf %north, %here2 : f64
          %bend_j = arith.addf %off_j, %south : f64
          %part_j = arith.mulf %eighth, %bend_j : f64
          %east = affine.load %B[%i, %j, %k + 1] : !cube
          %west = affine.load %B[%i, %j, %k - 1] : !cube
          %off_k = arith.subf %east, %here2 : f64
          %bend_k = arith.addf %off_k, %west : f64
          %part_k = arith.mulf %eighth, %bend_k : f64
          %sum_ij = arith.addf %part_i, %part_j : f64
          %sum_ijk = arith.addf %sum_ij, %part_k : f64
          %next = arith.addf %sum_ijk, %here : f64
          affine.store %next, %A[%i, %j, %k] : !cube
        }
      }
    }
  }
  return
}
