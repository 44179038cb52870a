// Levinson-Durbin recursion: solves the Yule-Walker equations of the autocorrelation r
// into y.  alpha is the last reflection coefficient, beta the prediction error.
#own = affine_map<(k) -> (k)>
!vector = memref<?xf64>
!scalar = memref<f64>

func.func @durbin(%r: !vector, %y: !vector) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %r, %c0 : !vector
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %z = memref.alloc(%N) : !vector
  %alpha = memref.alloca() : !scalar
  %beta = memref.alloca() : !scalar

  %r0 = affine.load %r[0] : !vector
  %first = arith.negf %r0 : f64
  affine.store %first, %y[0] : !vector
  affine.store %first, %alpha[] : !scalar
  affine.store %one, %beta[] : !scalar

  affine.for %k = 1 to %N {
    %alpha_old = affine.load %alpha[] : !scalar
    %beta_old = affine.load %beta[] : !scalar
    %alpha2 = arith.mulf %alpha_old, %alpha_old : f64
    %kept = arith.subf %one, %alpha2 : f64
    %beta_new = arith.mulf %kept, %beta_old : f64
    affine.store %beta_new, %beta[] : !scalar

    %sum = affine.for %i = 0 to #own(%k) iter_args(%partial = %zero) -> (f64) {
      %r_back = affine.load %r[%k - %i - 1] : !vector
      %y_i = affine.load %y[%i] : !vector
      %product = arith.mulf %r_back, %y_i : f64
      %next = arith.addf %partial, %product : f64
      affine.yield %next : f64
    }
    %r_k = affine.load %r[%k] : !vector
    %error = arith.addf %r_k, %sum : f64
    %error_minus = arith.negf %error : f64
    %alpha_new = arith.divf %error_minus, %beta_new : f64
    affine.store %alpha_new, %alpha[] : !scalar

    affine.for %i = 0 to #own(%k) {
      %y_i = affine.load %y[%i] : !vector
      %y_back = affine.load %y[%k - %i - 1] : !vector
      %product = arith.mulf %alpha_new, %y_back : f64
      %z_i = arith.addf %y_i, %product : f64
      affine.store %z_i, %z[%i] : !vector
    }
    affine.for %i = 0 to #own(%k) {
      %z_i = affine.load %z[%i] : !vector
      affine.store %z_i, %y[%i] : !vector
    }
    affine.store %alpha_new, %y[%k] : !vector
  }
  memref.dealloc %z : !vector
  return
}
