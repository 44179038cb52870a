#map = affine_map<(d0)[s0] -> (d0 + s0, d0 * 2)>
#set = affine_set<(d0, d1)[s0] : (d0 - d1 >= 0, s0 - d0 - 1 >= 0, d1 mod 2 == 0)>
func.func @loops(%n: index, %m: index, %A: memref<?x?xf32>, %x: f32) -> f32 {
  affine.for %i = 0 to %n {
    affine.for %j = max #map(%i)[%n] to min affine_map<(d0)[s0] -> (d0 + 32, s0)>(%i)[%n] step 4 {
      %0 = affine.load %A[%i + 3, %j - %i floordiv 2] : memref<?x?xf32>
      affine.store %0, %A[%i, (%j mod 4) * 2 + symbol(%n)] : memref<?x?xf32>
      affine.if #set(%i, %j)[%n] {
        %1 = affine.apply affine_map<(d0, d1) -> (d0 ceildiv 3 - d1 * 5)>(%i, %j)
        affine.store %x, %A[%1, %j] : memref<?x?xf32>
      } else {
        affine.store %x, %A[%j, %i] : memref<?x?xf32>
      }
    }
  }
  affine.for %i = -5 to 10 {
  }
  %sum:2 = affine.for %i = 0 to 128 step 2 iter_args(%a = %x, %b = %x) -> (f32, f32) {
    %0 = affine.load %A[%i, %i] : memref<?x?xf32>
    %1 = arith.addf %a, %0 : f32
    affine.yield %1, %b : f32, f32
  }
  %2 = affine.if affine_set<()[s0] : (s0 >= 0)>()[%n] -> f32 {
    affine.yield %sum#0 : f32
  } else {
    affine.yield %sum#1 : f32
  }
  affine.parallel (%i, %j) = (0, %n) to (%m, min(%n + 5, 100)) step (2, 1) {
    %3 = affine.load %A[%i, %j] : memref<?x?xf32>
    affine.store %3, %A[%j, %i] : memref<?x?xf32>
  }
  affine.parallel (%i) = (max(0, symbol(%n))) to (100) {
  }
  %4 = affine.parallel (%i) = (0) to (%n) reduce ("addf") -> (f32) {
    affine.yield %x : f32
  }
  return %4 : f32
}
func.func @others(%A: memref<100x100xf32>, %B: memref<100xf32, 2>, %n: index, %tag: memref<4xi32>) {
  %0 = affine.min affine_map<(d0)[s0] -> (d0 + 1, s0, 100)>(%n)[%n]
  %1 = affine.max affine_map<()[s0] -> (s0, 0)>()[%n]
  affine.for %i = 0 to 90 {
    %v = affine.vector_load %A[%i, 4] : memref<100x100xf32>, vector<8xf32>
    affine.vector_store %v, %A[%i, 8] : memref<100x100xf32>, vector<8xf32>
    affine.prefetch %A[%i, %i + 5], read, locality<3>, data : memref<100x100xf32>
    affine.dma_start %A[%i + 1, 0], %B[%i], %tag[%i mod 2], %n : memref<100x100xf32>, memref<100xf32, 2>, memref<4xi32>
    affine.dma_start %A[%i, 0], %B[%i], %tag[0], %n, %n, %n : memref<100x100xf32>, memref<100xf32, 2>, memref<4xi32>
    affine.dma_wait %tag[%i mod 2], %n : memref<4xi32>
    %q:2 = affine.delinearize_index %i into (%n, 4) : index, index
    %l = affine.linearize_index disjoint [%q#0, %q#1] by (%n, 4) : index
  }
  return
}
func.func @triangle(%A: memref<?x?xf64>, %n: index) {
  affine.for %i = 0 to %n {
    affine.for %j = 0 to affine_map<(d0) -> (d0)>(%i) {
      affine.for %k = affine_map<(d0) -> (d0 + 1)>(%j) to affine_map<(d0)[s0] -> (s0 - d0)>(%j)[%n] {
        %0 = affine.load %A[%k, %i - %j] : memref<?x?xf64>
        affine.store %0, %A[%i, %j] {tag} : memref<?x?xf64>
      } {unroll = 4 : i64}
    }
  }
  return
}
