// C += A * B in 16 x 16 tiles, written by hand: while one pair of tiles is multiplied,
// the next pair is on its way into fast memory (space 2).  Slot and tag alternate with
// the step.  All extents must be multiples of 16.
#tile_end = affine_map<(d0) -> (d0 + 16)>
#slot = affine_map<(d0) -> ((d0 floordiv 16) mod 2)>
#other_slot = affine_map<(d0) -> ((d0 floordiv 16 + 1) mod 2)>
#has_any = affine_set<()[s0] : (s0 - 1 >= 0)>
#has_next = affine_set<(d0)[s0] : (s0 - d0 - 17 >= 0)>

func.func @dma_matmul(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c256 = arith.constant 256 : index
  %M = memref.dim %A, %c0 : memref<?x?xf32>
  %K = memref.dim %A, %c1 : memref<?x?xf32>
  %N = memref.dim %B, %c1 : memref<?x?xf32>
  affine.for %i = 0 to %M step 16 {
    affine.for %j = 0 to %N step 16 {
      %a = memref.alloc() : memref<2x16x16xf32, 2>
      %b = memref.alloc() : memref<2x16x16xf32, 2>
      %a_tag = memref.alloc() : memref<2xi32>
      %b_tag = memref.alloc() : memref<2xi32>
      affine.if #has_any()[%K] {
        memref.dma_start %A[%i, %c0], %a[%c0, %c0, %c0], %c256, %a_tag[%c0], %K, %c16
            : memref<?x?xf32>, memref<2x16x16xf32, 2>, memref<2xi32>
        memref.dma_start %B[%c0, %j], %b[%c0, %c0, %c0], %c256, %b_tag[%c0], %N, %c16
            : memref<?x?xf32>, memref<2x16x16xf32, 2>, memref<2xi32>
      }
      affine.for %k = 0 to %K step 16 {
        %slot = affine.apply #slot(%k)
        memref.dma_wait %a_tag[%slot], %c256 : memref<2xi32>
        memref.dma_wait %b_tag[%slot], %c256 : memref<2xi32>
        affine.if #has_next(%k)[%K] {
          %other = affine.apply #other_slot(%k)
          %next = affine.apply #tile_end(%k)
          memref.dma_start %A[%i, %next], %a[%other, %c0, %c0], %c256, %a_tag[%other],
              %K, %c16 : memref<?x?xf32>, memref<2x16x16xf32, 2>, memref<2xi32>
          memref.dma_start %B[%next, %j], %b[%other, %c0, %c0], %c256, %b_tag[%other],
              %N, %c16 : memref<?x?xf32>, memref<2x16x16xf32, 2>, memref<2xi32>
        }
        affine.for %ii = 0 to 16 {
          affine.for %jj = 0 to 16 {
            affine.for %kk = 0 to 16 {
              %x = affine.load %a[(%k floordiv 16) mod 2, %ii, %kk]
                  : memref<2x16x16xf32, 2>
              %y = affine.load %b[(%k floordiv 16) mod 2, %kk, %jj]
                  : memref<2x16x16xf32, 2>
              %c = affine.load %C[%i + %ii, %j + %jj] : memref<?x?xf32>
              %product = arith.mulf %x, %y : f32
              %sum = arith.addf %c, %product : f32
              affine.store %sum, %C[%i + %ii, %j + %jj] : memref<?x?xf32>
            }
          }
        }
      }
      memref.dealloc %a : memref<2x16x16xf32, 2>
      memref.dealloc %b : memref<2x16x16xf32, 2>
      memref.dealloc %a_tag : memref<2xi32>
      memref.dealloc %b_tag : memref<2xi32>
    }
  }
  return
}
