// C += A * B in 32 x 32 tiles, 32 terms at a time, factors in f16, sums in f32.  While one
// pair of tiles is multiplied, the next pair is on its way into fast memory (space 2), as
// in dma_matmul.mlir.  The terms of a sum may come in any order (fastmath<reassoc>), so a
// GPU multiplies the tiles on its tensor cores.  All extents must be multiples of 32.
#tile_end = affine_map<(d0) -> (d0 + 32)>
#slot = affine_map<(d0) -> ((d0 floordiv 32) mod 2)>
#other_slot = affine_map<(d0) -> ((d0 floordiv 32 + 1) mod 2)>
#has_any = affine_set<()[s0] : (s0 - 1 >= 0)>
#has_next = affine_set<(d0)[s0] : (s0 - d0 - 33 >= 0)>

func.func @dma_matmul_f16(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %C: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c1024 = arith.constant 1024 : index
  %M = memref.dim %A, %c0 : memref<?x?xf16>
  %K = memref.dim %A, %c1 : memref<?x?xf16>
  %N = memref.dim %B, %c1 : memref<?x?xf16>
  affine.for %i = 0 to %M step 32 {
    affine.for %j = 0 to %N step 32 {
      %a = memref.alloc() : memref<2x32x32xf16, 2>
      %b = memref.alloc() : memref<2x32x32xf16, 2>
      %a_tag = memref.alloc() : memref<2xi32>
      %b_tag = memref.alloc() : memref<2xi32>
      affine.if #has_any()[%K] {
        memref.dma_start %A[%i, %c0], %a[%c0, %c0, %c0], %c1024, %a_tag[%c0], %K, %c32
            : memref<?x?xf16>, memref<2x32x32xf16, 2>, memref<2xi32>
        memref.dma_start %B[%c0, %j], %b[%c0, %c0, %c0], %c1024, %b_tag[%c0], %N, %c32
            : memref<?x?xf16>, memref<2x32x32xf16, 2>, memref<2xi32>
      }
      affine.for %k = 0 to %K step 32 {
        %slot = affine.apply #slot(%k)
        memref.dma_wait %a_tag[%slot], %c1024 : memref<2xi32>
        memref.dma_wait %b_tag[%slot], %c1024 : memref<2xi32>
        affine.if #has_next(%k)[%K] {
          %other = affine.apply #other_slot(%k)
          %next = affine.apply #tile_end(%k)
          memref.dma_start %A[%i, %next], %a[%other, %c0, %c0], %c1024, %a_tag[%other],
              %K, %c32 : memref<?x?xf16>, memref<2x32x32xf16, 2>, memref<2xi32>
          memref.dma_start %B[%next, %j], %b[%other, %c0, %c0], %c1024, %b_tag[%other],
              %N, %c32 : memref<?x?xf16>, memref<2x32x32xf16, 2>, memref<2xi32>
        }
        affine.for %ii = 0 to 32 {
          affine.for %jj = 0 to 32 {
            affine.for %kk = 0 to 32 {
              %x = affine.load %a[(%k floordiv 32) mod 2, %ii, %kk]
                  : memref<2x32x32xf16, 2>
              %y = affine.load %b[(%k floordiv 32) mod 2, %kk, %jj]
                  : memref<2x32x32xf16, 2>
              %c = affine.load %C[%i + %ii, %j + %jj] : memref<?x?xf32>
              %left = arith.extf %x : f16 to f32
              %right = arith.extf %y : f16 to f32
              %product = arith.mulf %left, %right : f32
              %sum = arith.addf %c, %product fastmath<reassoc> : f32
              affine.store %sum, %C[%i + %ii, %j + %jj] : memref<?x?xf32>
            }
          }
        }
      }
      memref.dealloc %a : memref<2x32x32xf16, 2>
      memref.dealloc %b : memref<2x32x32xf16, 2>
      memref.dealloc %a_tag : memref<2xi32>
      memref.dealloc %b_tag : memref<2xi32>
    }
  }
  return
}
