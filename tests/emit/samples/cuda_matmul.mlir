// Shared tiles of A and B, four results per thread, a guard on the last columns.
gpu.module @mm_kernels {
  gpu.func @mm_k0(%A: memref<128x64xf32>, %B: memref<64x?xf32>, %C: memref<128x?xf32>) kernel attributes {gcg.block = array<i32: 16, 16, 1>} {
    %sa = memref.alloca() : memref<16x32xf32, #gpu.address_space<workgroup>>
    %sb = memref.alloca() : memref<16x32xf32, #gpu.address_space<workgroup>>
    %pad = arith.constant 0.0 : f32
    %c1 = arith.constant 1 : index
    %n = memref.dim %B, %c1 : memref<64x?xf32>
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %row = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1 * 2)>(%by, %ty)
    %col = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1 * 2)>(%bx, %tx)
    %r = affine.apply affine_map<(d0) -> (d0 * 2)>(%ty)
    %s = affine.apply affine_map<(d0) -> (d0 * 2)>(%tx)
    %acc0 = vector.transfer_read %C[%row, %col], %pad {in_bounds = [true, false]} : memref<128x?xf32>, vector<2x2xf32>
    %sum = affine.for %k0 = 0 to 64 step 16 iter_args(%acc = %acc0) -> (vector<2x2xf32>) {
      affine.for %e = 0 to 512 step 256 {
        %q = affine.apply affine_map<(d0, d1, d2) -> (d0 * 16 + d1 + d2)>(%ty, %tx, %e)
        %x = affine.load %A[%by * 32 + %q floordiv 16, %k0 + %q mod 16] : memref<128x64xf32>
        affine.store %x, %sa[%q mod 16, %q floordiv 16] : memref<16x32xf32, #gpu.address_space<workgroup>>
        %column = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1 mod 32)>(%bx, %q)
        affine.if affine_set<(d0)[s0] : (s0 - d0 - 1 >= 0)>(%column)[%n] {
          %y = affine.load %B[%k0 + %q floordiv 32, %column] : memref<64x?xf32>
          affine.store %y, %sb[%q floordiv 32, %q mod 32] : memref<16x32xf32, #gpu.address_space<workgroup>>
        } else {
          affine.store %pad, %sb[%q floordiv 32, %q mod 32] : memref<16x32xf32, #gpu.address_space<workgroup>>
        }
      }
      gpu.barrier
      %inner = affine.for %k = 0 to 16 iter_args(%a2 = %acc) -> (vector<2x2xf32>) {
        %a = vector.load %sa[%k, %r] : memref<16x32xf32, #gpu.address_space<workgroup>>, vector<2xf32>
        %b = vector.load %sb[%k, %s] : memref<16x32xf32, #gpu.address_space<workgroup>>, vector<2xf32>
        %new = vector.outerproduct %a, %b, %a2 : vector<2xf32>, vector<2xf32>
        affine.yield %new : vector<2x2xf32>
      }
      gpu.barrier
      affine.yield %inner : vector<2x2xf32>
    }
    vector.transfer_write %sum, %C[%row, %col] {in_bounds = [true, false]} : vector<2x2xf32>, memref<128x?xf32>
    gpu.return
  }
}
func.func @mm(%A: memref<128x64xf32>, %B: memref<64x?xf32>, %C: memref<128x?xf32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %B, %c1 : memref<64x?xf32>
  %g = affine.apply affine_map<()[s0] -> (s0 ceildiv 32)>()[%n]
  gpu.launch_func @mm_kernels::@mm_k0 blocks in (%g, %c4, %c1) threads in (%c16, %c16, %c1) args(%A : memref<128x64xf32>, %B : memref<64x?xf32>, %C : memref<128x?xf32>)
  return
}
