// Means of three points of a line, T times from A to B and back.
#last = affine_map<()[n] -> (n - 1)>
!line = memref<?xf64>

func.func @jacobi_1d(%T: index, %A: !line, %B: !line) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !line
  %third = arith.constant 0.33333 : f64
  affine.for %t = 0 to %T {
    affine.for %i = 1 to #last()[%N] {
      %left = affine.load %A[%i - 1] : !line
      %here = affine.load %A[%i] : !line
      %right = affine.load %A[%i + 1] : !line
      %two = arith.addf %left, %here : f64
      %three = arith.addf %two, %right : f64
      %mean = arith.mulf %third, %three : f64
      affine.store %mean, %B[%i] : !line
    }
    affine.for %i = 1 to #last()[%N] {
      %left = affine.load %B[%i - 1] : !line
      %here = affine.load %B[%i] : !line
      %right = affine.load %B[%i + 1] : !line
      %two = arith.addf %left, %here : f64
      %three = arith.addf %two, %right : f64
      %mean = arith.mulf %third, %three : f64
      affine.store %mean, %A[%i] : !line
    }
  }
  return
}
