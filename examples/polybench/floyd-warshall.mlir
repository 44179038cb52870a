// Lengths of the shortest paths between all pairs of nodes; path begins as the lengths
// of the edges.  After round k every path through nodes 0 .. k is known.
!matrix = memref<?x?xi32>

func.func @floyd_warshall(%path: !matrix) {
  %c0 = arith.constant 0 : index
  %N = memref.dim %path, %c0 : !matrix
  affine.for %k = 0 to %N {
    affine.for %i = 0 to %N {
      affine.for %j = 0 to %N {
        %known = affine.load %path[%i, %j] : !matrix
        %to_k = affine.load %path[%i, %k] : !matrix
        %from_k = affine.load %path[%k, %j] : !matrix
        %through_k = arith.addi %to_k, %from_k : i32
        %is_shorter = arith.cmpi slt, %known, %through_k : i32
        %best = arith.select %is_shorter, %known, %through_k : i32
        affine.store %best, %path[%i, %j] : !matrix
      }
    }
  }
  return
}
