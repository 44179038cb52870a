// Means of nine points of a plane in place, T times: every point uses the new values
// before it and the old ones after it.
#last = affine_map<()[n] -> (n - 1)>
!plane = memref<?x?xf64>

func.func @seidel_2d(%T: index, %A: !plane) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %A, %c0 : !plane
  %nine = arith.constant 9.0 : f64
  affine.for %t = 0 to %T {
    affine.for %i = 1 to #last()[%N] {
      affine.for %j = 1 to #last()[%N] {
        %a0 = affine.load %A[%i - 1, %j - 1] : !plane
        %a1 = affine.load %A[%i - 1, %j] : !plane
        %a2 = affine.load %A[%i - 1, %j + 1] : !plane
        %a3 = affine.load %A[%i, %j - 1] : !plane
        %a4 = affine.load %A[%i, %j] : !plane
        %a5 = affine.load %A[%i, %j + 1] : !plane
        %a6 = affine.load %A[%i + 1, %j - 1] : !plane
        %a7 = affine.load %A[%i + 1, %j] : !plane
        %a8 = affine.load %A[%i + 1, %j + 1] : !plane
        %s1 = arith.addf %a0, %a1 : f64
        %s2 = arith.addf %s1, %a2 : f64
        %s3 = arith.addf %s2, %a3 : f64
        %s4 = arith.addf %s3, %a4 : f64
        %s5 = arith.addf %s4, %a5 : f64
        %s6 = arith.addf %s5, %a6 : f64
        %s7 = arith.addf %s6, %a7 : f64
        %s8 = arith.addf %s7, %a8 : f64
        %mean = arith.divf %s8, %nine : f64
        affine.store %mean, %A[%i, %j] : !plane
      }
    }
  }
  return
}
