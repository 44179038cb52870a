// Multiresolution kernel: every row A[r, q, :] is multiplied by C4, in place by way of
// the vector sum.
!cube = memref<?x?x?xf64>
!matrix = memref<?x?xf64>
!vector = memref<?xf64>

func.func @doitgen(%A: !cube, %C4: !matrix, %sum: !vector) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %NR = memref.dim %A, %c0 : !cube
  %NQ = memref.dim %A, %c1 : !cube
  %NP = memref.dim %C4, %c0 : !matrix
  %zero = arith.constant 0.0 : f64
  affine.for %r = 0 to %NR {
    affine.for %q = 0 to %NQ {
      affine.for %p = 0 to %NP {
        affine.store %zero, %sum[%p] : !vector
        affine.for %s = 0 to %NP {
          %a = affine.load %A[%r, %q, %s] : !cube
          %c = affine.load %C4[%s, %p] : !matrix
          %old = affine.load %sum[%p] : !vector
          %product = arith.mulf %a, %c : f64
          %next = arith.addf %old, %product : f64
          affine.store %next, %sum[%p] : !vector
        }
      }
      affine.for %p = 0 to %NP {
        %done = affine.load %sum[%p] : !vector
        affine.store %done, %A[%r, %q, %p] : !cube
      }
    }
  }
  return
}
