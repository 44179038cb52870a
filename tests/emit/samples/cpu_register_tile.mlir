// C[8 x 16] += A^T panel: a register tile carried through two loops.
func.func private @tile_k0(%A: memref<8x40xf32, strided<[40, 1]>>, %B: memref<40x16xf32>, %C: memref<8x16xf32>) attributes {gcg.kernel = "cpu"} {
  %pad = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  affine.parallel (%r) = (0) to (8) step (4) {
    %acc0 = vector.transfer_read %C[%r, %c0], %pad {in_bounds = [true, true]} : memref<8x16xf32>, vector<4x16xf32>
    %sum = affine.for %kb = 0 to 40 step 16 iter_args(%acc = %acc0) -> (vector<4x16xf32>) {
      %part = affine.for %k = affine_map<(d0) -> (d0)>(%kb) to min affine_map<(d0) -> (d0 + 16, 40)>(%kb) iter_args(%a2 = %acc) -> (vector<4x16xf32>) {
        %a = vector.transfer_read %A[%r, %k], %pad {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<8x40xf32, strided<[40, 1]>>, vector<4xf32>
        %b = vector.load %B[%k, %c0] : memref<40x16xf32>, vector<16xf32>
        %n = vector.outerproduct %a, %b, %a2 {kind = #vector.kind<add>} : vector<4xf32>, vector<16xf32>
        affine.yield %n : vector<4x16xf32>
      }
      affine.yield %part : vector<4x16xf32>
    }
    vector.transfer_write %sum, %C[%r, %c0] {in_bounds = [true, true]} : vector<4x16xf32>, memref<8x16xf32>
  }
  return
}
func.func @tile(%A: memref<8x40xf32, strided<[40, 1]>>, %B: memref<40x16xf32>, %C: memref<8x16xf32>) {
  call @tile_k0(%A, %B, %C) : (memref<8x40xf32, strided<[40, 1]>>, memref<40x16xf32>, memref<8x16xf32>) -> ()
  return
}
