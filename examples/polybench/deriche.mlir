// Deriche's recursive smoothing filter of a W x H image: along each line forward (y1)
// and backward (y2), then the same across the lines.  A recursion keeps its last input
// and its last two outputs in registers.
#backward = affine_map<(k)[n] -> (n - 1 - k)>
!image = memref<?x?xf64>

func.func @deriche(%alpha: f64, %in: !image, %out: !image, %y1: !image, %y2: !image) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %W = memref.dim %in, %c0 : !image
  %H = memref.dim %in, %c1 : !image
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %two = arith.constant 2.0 : f64

  // k = (1 - exp(-alpha))^2 / (1 + 2 alpha exp(-alpha) - exp(2 alpha))
  %alpha_minus = arith.negf %alpha : f64
  %decay = math.exp %alpha_minus : f64
  %alpha2 = arith.mulf %two, %alpha : f64
  %growth2 = math.exp %alpha2 : f64
  %alpha2_minus = arith.negf %alpha2 : f64
  %decay2 = math.exp %alpha2_minus : f64
  %gap = arith.subf %one, %decay : f64
  %gap2 = arith.mulf %gap, %gap : f64
  %slope = arith.mulf %alpha2, %decay : f64
  %below0 = arith.addf %one, %slope : f64
  %below = arith.subf %below0, %growth2 : f64
  %k = arith.divf %gap2, %below : f64

  // a1 = k, a2 = k exp(-alpha) (alpha - 1), a3 = k exp(-alpha) (alpha + 1),
  // a4 = -k exp(-2 alpha), b1 = 2^-alpha, b2 = -exp(-2 alpha)
  %k_decay = arith.mulf %k, %decay : f64
  %alpha_less = arith.subf %alpha, %one : f64
  %alpha_more = arith.addf %alpha, %one : f64
  %a2 = arith.mulf %k_decay, %alpha_less : f64
  %a3 = arith.mulf %k_decay, %alpha_more : f64
  %k_decay2 = arith.mulf %k, %decay2 : f64
  %a4 = arith.negf %k_decay2 : f64
  %b1 = math.exp2 %alpha_minus : f64
  %b2 = arith.negf %decay2 : f64

  // Along the lines.
  affine.for %i = 0 to %W {
    affine.for %j = 0 to %H
        iter_args(%xm1 = %zero, %ym1 = %zero, %ym2 = %zero) -> (f64, f64, f64) {
      %x = affine.load %in[%i, %j] : !image
      %s0 = arith.mulf %k, %x : f64
      %s1 = arith.mulf %a2, %xm1 : f64
      %s2 = arith.mulf %b1, %ym1 : f64
      %s3 = arith.mulf %b2, %ym2 : f64
      %s01 = arith.addf %s0, %s1 : f64
      %s012 = arith.addf %s01, %s2 : f64
      %y = arith.addf %s012, %s3 : f64
      affine.store %y, %y1[%i, %j] : !image
      affine.yield %x, %y, %ym1 : f64, f64, f64
    }
  }
  affine.for %i = 0 to %W {
    affine.for %l = 0 to %H
        iter_args(%xp1 = %zero, %xp2 = %zero, %yp1 = %zero, %yp2 = %zero)
        -> (f64, f64, f64, f64) {
      %j = affine.apply #backward(%l)[%H]
      %s0 = arith.mulf %a3, %xp1 : f64
      %s1 = arith.mulf %a4, %xp2 : f64
      %s2 = arith.mulf %b1, %yp1 : f64
      %s3 = arith.mulf %b2, %yp2 : f64
      %s01 = arith.addf %s0, %s1 : f64
      %s012 = arith.addf %s01, %s2 : f64
      %y = arith.addf %s012, %s3 : f64
      affine.store %y, %y2[%i, %j] : !image
      %x = affine.load %in[%i, %j] : !image
      affine.yield %x, %xp1, %y, %yp1 : f64, f64, f64, f64
    }
  }
  affine.for %i = 0 to %W {
    affine.for %j = 0 to %H {
      %forth = affine.load %y1[%i, %j] : !image
      %back = affine.load %y2[%i, %j] : !image
      %both = arith.addf %forth, %back : f64
      affine.store %both, %out[%i, %j] : !image
    }
  }

  // Across the lines.
  affine.for %j = 0 to %H {
    affine.for %i = 0 to %W
        iter_args(%xm1 = %zero, %ym1 = %zero, %ym2 = %zero) -> (f64, f64, f64) {
      %x = affine.load %out[%i, %j] : !image
      %s0 = arith.mulf %k, %x : f64
      %s1 = arith.mulf %a2, %xm1 : f64
      %s2 = arith.mulf %b1, %ym1 : f64
      %s3 = arith.mulf %b2, %ym2 : f64
      %s01 = arith.addf %s0, %s1 : f64
      %s012 = arith.addf %s01, %s2 : f64
      %y = arith.addf %s012, %s3 : f64
      affine.store %y, %y1[%i, %j] : !image
      affine.yield %x, %y, %ym1 : f64, f64, f64
    }
  }
  affine.for %j = 0 to %H {
    affine.for %l = 0 to %W
        iter_args(%xp1 = %zero, %xp2 = %zero, %yp1 = %zero, %yp2 = %zero)
        -> (f64, f64, f64, f64) {
      %i = affine.apply #backward(%l)[%W]
      %s0 = arith.mulf %a3, %xp1 : f64
      %s1 = arith.mulf %a4, %xp2 : f64
      %s2 = arith.mulf %b1, %yp1 : f64
      %s3 = arith.mulf %b2, %yp2 : f64
      %s01 = arith.addf %s0, %s1 : f64
      %s012 = arith.addf %s01, %s2 : f64
      %y = arith.addf %s012, %s3 : f64
      affine.store %y, %y2[%i, %j] : !image
      %x = affine.load %out[%i, %j] : !image
      affine.yield %x, %xp1, %y, %yp1 : f64, f64, f64, f64
    }
  }
  affine.for %i = 0 to %W {
    affine.for %j = 0 to %H {
      %forth = affine.load %y1[%i, %j] : !image
      %back = affine.load %y2[%i, %j] : !image
      %both = arith.addf %forth, %back : f64
      affine.store %both, %out[%i, %j] : !image
    }
  }
  return
}
