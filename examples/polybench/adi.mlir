// Alternating direction implicit solver of the heat equation on an N x N plane: each
// step solves tridiagonal systems along all columns (u to v), then along all rows
// (v to u).  The solutions run forward (p, q) and then backward.
#last = affine_map<()[n] -> (n - 1)>
#inner = affine_map<()[n] -> (n - 2)>
#backward = affine_map<(k)[n] -> (n - 2 - k)>
!matrix = memref<?x?xf64>

func.func @adi(%T: index, %u: !matrix, %v: !matrix, %p: !matrix, %q: !matrix) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %u, %c0 : !matrix
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %two = arith.constant 2.0 : f64

  // With dx = 1/N and dt = 1/T: a = -dt/dx^2 and d = -dt/(2 dx^2) are the factors of
  // both neighbours, b = 1 - 2a and e = 1 - 2d those of the point itself.
  %N_int = arith.index_cast %N : index to i64
  %T_int = arith.index_cast %T : index to i64
  %n = arith.sitofp %N_int : i64 to f64
  %t_count = arith.sitofp %T_int : i64 to f64
  %dx = arith.divf %one, %n : f64
  %dt = arith.divf %one, %t_count : f64
  %dx2 = arith.mulf %dx, %dx : f64
  %ratio = arith.divf %dt, %dx2 : f64
  %a = arith.negf %ratio : f64
  %d = arith.divf %a, %two : f64
  %a2 = arith.mulf %two, %a : f64
  %d2 = arith.mulf %two, %d : f64
  %b = arith.subf %one, %a2 : f64
  %e = arith.subf %one, %d2 : f64
  %a_centre = arith.addf %one, %a2 : f64
  %d_centre = arith.addf %one, %d2 : f64
  %a_minus = arith.negf %a : f64
  %d_minus = arith.negf %d : f64

  affine.for %t = 0 to %T {
    // Columns.
    affine.for %i = 1 to #last()[%N] {
      affine.store %one, %v[0, %i] : !matrix
      affine.store %zero, %p[%i, 0] : !matrix
      %v0 = affine.load %v[0, %i] : !matrix
      affine.store %v0, %q[%i, 0] : !matrix
      affine.for %j = 1 to #last()[%N] {
        %p_before = affine.load %p[%i, %j - 1] : !matrix
        %a_p = arith.mulf %a, %p_before : f64
        %pivot = arith.addf %a_p, %b : f64
        %p_next = arith.divf %a_minus, %pivot : f64
        affine.store %p_next, %p[%i, %j] : !matrix
        %left = affine.load %u[%j, %i - 1] : !matrix
        %centre = affine.load %u[%j, %i] : !matrix
        %right = affine.load %u[%j, %i + 1] : !matrix
        %q_before = affine.load %q[%i, %j - 1] : !matrix
        %s0 = arith.mulf %d_minus, %left : f64
        %s1 = arith.mulf %d_centre, %centre : f64
        %s2 = arith.mulf %d, %right : f64
        %s3 = arith.mulf %a, %q_before : f64
        %s01 = arith.addf %s0, %s1 : f64
        %s012 = arith.subf %s01, %s2 : f64
        %source = arith.subf %s012, %s3 : f64
        %q_next = arith.divf %source, %pivot : f64
        affine.store %q_next, %q[%i, %j] : !matrix
      }
      affine.store %one, %v[symbol(%N) - 1, %i] : !matrix
      affine.for %k = 0 to #inner()[%N] {
        %j = affine.apply #backward(%k)[%N]
        %p_j = affine.load %p[%i, %j] : !matrix
        %v_after = affine.load %v[%j + 1, %i] : !matrix
        %q_j = affine.load %q[%i, %j] : !matrix
        %p_v = arith.mulf %p_j, %v_after : f64
        %v_j = arith.addf %p_v, %q_j : f64
        affine.store %v_j, %v[%j, %i] : !matrix
      }
    }

    // Rows.
    affine.for %i = 1 to #last()[%N] {
      affine.store %one, %u[%i, 0] : !matrix
      affine.store %zero, %p[%i, 0] : !matrix
      %u0 = affine.load %u[%i, 0] : !matrix
      affine.store %u0, %q[%i, 0] : !matrix
      affine.for %j = 1 to #last()[%N] {
        %p_before = affine.load %p[%i, %j - 1] : !matrix
        %d_p = arith.mulf %d, %p_before : f64
        %pivot = arith.addf %d_p, %e : f64
        %p_next = arith.divf %d_minus, %pivot : f64
        affine.store %p_next, %p[%i, %j] : !matrix
        %above = affine.load %v[%i - 1, %j] : !matrix
        %centre = affine.load %v[%i, %j] : !matrix
        %below = affine.load %v[%i + 1, %j] : !matrix
        %q_before = affine.load %q[%i, %j - 1] : !matrix
        %s0 = arith.mulf %a_minus, %above : f64
        %s1 = arith.mulf %a_centre, %centre : f64
        %s2 = arith.mulf %a, %below : f64
        %s3 = arith.mulf %d, %q_before : f64
        %s01 = arith.addf %s0, %s1 : f64
        %s012 = arith.subf %s01, %s2 : f64
        %source = arith.subf %s012, %s3 : f64
        %q_next = arith.divf %source, %pivot : f64
        affine.store %q_next, %q[%i, %j] : !matrix
      }
      affine.store %one, %u[%i, symbol(%N) - 1] : !matrix
      affine.for %k = 0 to #inner()[%N] {
        %j = affine.apply #backward(%k)[%N]
        %p_j = affine.load %p[%i, %j] : !matrix
        %u_after = affine.load %u[%i, %j + 1] : !matrix
        %q_j = affine.load %q[%i, %j] : !matrix
        %p_u = arith.mulf %p_j, %u_after : f64
        %u_j = arith.addf %p_u, %q_j : f64
        affine.store %u_j, %u[%i, %j] : !matrix
      }
    }
  }
  return
}
