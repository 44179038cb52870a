// Folding of RNA: table[i, j] is the largest number of pairs within bases i .. j.
// Bases (0 .. 3) pair when they sum to 3; neighbours do not.  Longer stretches are built
// from shorter ones, so i runs backward.
#backward = affine_map<(l)[n] -> (n - 1 - l)>
#after = affine_map<(i) -> (i + 1)>
#own = affine_map<(j) -> (j)>
#has_left = affine_set<(j) : (j - 1 >= 0)>
#has_below = affine_set<(i)[n] : (n - 2 - i >= 0)>
#has_both = affine_set<(i, j)[n] : (j - 1 >= 0, n - 2 - i >= 0)>
#are_apart = affine_set<(i, j) : (j - 2 - i >= 0)>
!sequence = memref<?xi8>
!matrix = memref<?x?xi32>

func.func @nussinov(%seq: !sequence, %table: !matrix) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %seq, %c0 : !sequence
  %three = arith.constant 3 : i8
  affine.for %l = 0 to %N {
    %i = affine.apply #backward(%l)[%N]
    affine.for %j = #after(%i) to %N {
      // Base j or base i stays single.
      affine.if #has_left(%j) {
        %best = affine.load %table[%i, %j] : !matrix
        %other = affine.load %table[%i, %j - 1] : !matrix
        %next = arith.maxsi %best, %other : i32
        affine.store %next, %table[%i, %j] : !matrix
      }
      affine.if #has_below(%i)[%N] {
        %best = affine.load %table[%i, %j] : !matrix
        %other = affine.load %table[%i + 1, %j] : !matrix
        %next = arith.maxsi %best, %other : i32
        affine.store %next, %table[%i, %j] : !matrix
      }
      // Bases i and j pair.
      affine.if #has_both(%i, %j)[%N] {
        affine.if #are_apart(%i, %j) {
          %base_i = affine.load %seq[%i] : !sequence
          %base_j = affine.load %seq[%j] : !sequence
          %sum = arith.addi %base_i, %base_j : i8
          %do_pair = arith.cmpi eq, %sum, %three : i8
          %pair = arith.extui %do_pair : i1 to i32
          %best = affine.load %table[%i, %j] : !matrix
          %between = affine.load %table[%i + 1, %j - 1] : !matrix
          %other = arith.addi %between, %pair : i32
          %next = arith.maxsi %best, %other : i32
          affine.store %next, %table[%i, %j] : !matrix
        } else {
          %best = affine.load %table[%i, %j] : !matrix
          %other = affine.load %table[%i + 1, %j - 1] : !matrix
          %next = arith.maxsi %best, %other : i32
          affine.store %next, %table[%i, %j] : !matrix
        }
      }
      // The stretch falls in two.
      affine.for %k = #after(%i) to #own(%j) {
        %best = affine.load %table[%i, %j] : !matrix
        %left = affine.load %table[%i, %k] : !matrix
        %right = affine.load %table[%k + 1, %j] : !matrix
        %other = arith.addi %left, %right : i32
        %next = arith.maxsi %best, %other : i32
        affine.store %next, %table[%i, %j] : !matrix
      }
    }
  }
  return
}
