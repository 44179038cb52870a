// Finite-difference time domain in two dimensions: the fields ex and ey, driven by
// fict in row 0, and hz follow each other through T steps.
#last = affine_map<()[n] -> (n - 1)>
!plane = memref<?x?xf64>
!vector = memref<?xf64>

func.func @fdtd_2d(%ex: !plane, %ey: !plane, %hz: !plane, %fict: !vector) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %T = memref.dim %fict, %c0 : !vector
  %NX = memref.dim %hz, %c0 : !plane
  %NY = memref.dim %hz, %c1 : !plane
  %half = arith.constant 0.5 : f64
  %most = arith.constant 0.7 : f64
  affine.for %t = 0 to %T {
    affine.for %j = 0 to %NY {
      %f = affine.load %fict[%t] : !vector
      affine.store %f, %ey[0, %j] : !plane
    }
    affine.for %i = 1 to %NX {
      affine.for %j = 0 to %NY {
        %e = affine.load %ey[%i, %j] : !plane
        %h = affine.load %hz[%i, %j] : !plane
        %h_above = affine.load %hz[%i - 1, %j] : !plane
        %change = arith.subf %h, %h_above : f64
        %step = arith.mulf %half, %change : f64
        %next = arith.subf %e, %step : f64
        affine.store %next, %ey[%i, %j] : !plane
      }
    }
    affine.for %i = 0 to %NX {
      affine.for %j = 1 to %NY {
        %e = affine.load %ex[%i, %j] : !plane
        %h = affine.load %hz[%i, %j] : !plane
        %h_left = affine.load %hz[%i, %j - 1] : !plane
        %change = arith.subf %h, %h_left : f64
        %step = arith.mulf %half, %change : f64
        %next = arith.subf %e, %step : f64
        affine.store %next, %ex[%i, %j] : !plane
      }
    }
    affine.for %i = 0 to #last()[%NX] {
      affine.for %j = 0 to #last()[%NY] {
        %h = affine.load %hz[%i, %j] : !plane
        %ex_right = affine.load %ex[%i, %j + 1] : !plane
        %ex_here = affine.load %ex[%i, %j] : !plane
        %ey_below = affine.load %ey[%i + 1, %j] : !plane
        %ey_here = affine.load %ey[%i, %j] : !plane
        %across = arith.subf %ex_right, %ex_here : f64
        %both = arith.addf %across, %ey_below : f64
        %curl = arith.subf %both, %ey_here : f64
        %step = arith.mulf %most, %curl : f64
        %next = arith.subf %h, %step : f64
        affine.store %next, %hz[%i, %j] : !plane
      }
    }
  }
  return
}
