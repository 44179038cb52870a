// Means of five points of a plane, T times from A to B and back.
#last = affine_map<()[n] -> (n - 1)>
!plane = memref<?x?xf64>

func.func @jacobi_2d(%T: index, %A: !plane, %B: !plane) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !plane
  %fifth = arith.constant 0.2 : f64
  affine.for %t = 0 to %T {
    affine.for %i = 1 to #last()[%N] {
      affine.for %j = 1 to #last()[%N] {
        %here = affine.load %A[%i, %j] : !plane
        %west = affine.load %A[%i, %j - 1] : !plane
        %east = affine.load %A[%i, %j + 1] : !plane
        %south = affine.load %A[%i + 1, %j] : !plane
        %north = affine.load %A[%i - 1, %j] : !plane
        %two = arith.addf %here, %west : f64
        %three = arith.addf %two, %east : f64
        %four = arith.addf %three, %south : f64
        %five = arith.addf %four, %north : f64
        %mean = arith.mulf %fifth, %five : f64
        affine.store %mean, %B[%i, %j] : !plane
      }
    }
    affine.for %i = 1 to #last()[%N] {
      affine.for %j = 1 to #last()[%N] {
        %here = affine.load %B[%i, %j] : !plane
        %west = affine.load %B[%i, %j - 1] : !plane
        %east = affine.load %B[%i, %j + 1] : !plane
        %south = affine.load %B[%i + 1, %j] : !plane
        %north = affine.load %B[%i - 1, %j] : !plane
        %two = arith.addf %here, %west : f64
        %three = arith.addf %two, %east : f64
        %four = arith.addf %three, %south : f64
        %five = arith.addf %four, %north : f64
        %mean = arith.mulf %fifth, %five : f64
        affine.store %mean, %A[%i, %j] : !plane
      }
    }
  }
  return
}
