// What may be a dimension, and what a symbol: today's rules, one function each.
func.func @arguments(%n: index, %m: memref<?x?xf32>) {
  affine.for %i = 0 to %n {
    %0 = affine.load %m[symbol(%n), %i + symbol(%n)] : memref<?x?xf32>
  }
  return
}

func.func @top_level_values(%m: memref<?xf32>, %c: i1, %n: index) {
  %k = memref.load %m[%n] : memref<?xf32>
  %j = arith.fptosi %k : f32 to i64
  %s = arith.index_cast %j : i64 to index
  %r = scf.if %c -> (index) {
    scf.yield %n : index
  } else {
    scf.yield %s : index
  }
  affine.for %i = 0 to %r {
    %0 = affine.load %m[%i + symbol(%s)] : memref<?xf32>
  }
  return
}

func.func @block_arguments(%m: memref<?xf32>, %n: index) {
  cf.br ^bb1(%n : index)
^bb1(%a: index):
  affine.for %i = 0 to %a {
    %0 = affine.load %m[symbol(%a)] : memref<?xf32>
  }
  return
}

func.func @pure_functions_of_symbols(%m: memref<?xf32>, %n: index) {
  affine.for %i = 0 to 10 {
    %a = arith.addi %n, %n : index
    %b = affine.max affine_map<(d0) -> (d0, 5)>(%a)
    %c = affine.apply affine_map<(d0) -> (d0 + 5)>(%b)
    %d = arith.constant 3 : index
    affine.for %j = %a to affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%c] {
      %0 = affine.load %m[symbol(%d) + symbol(%b)] : memref<?xf32>
    }
  }
  return
}

func.func @sizes(%m: memref<?xf32>, %t: tensor<?xf32>, %n: index, %i8: memref<99xi8>) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 10 {
    %a = memref.alloc(%n) : memref<?xf32>
    %s = memref.subview %m[%i] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %v = memref.view %i8[%c0][%n] : memref<99xi8> to memref<?xf32>
    %w = memref.cast %v : memref<?xf32> to memref<?xf32, strided<[?], offset: ?>>
    %0 = memref.dim %m, %i : memref<?xf32>
    %1 = memref.dim %a, %c0 : memref<?xf32>
    %2 = memref.dim %s, %c0 : memref<?xf32, strided<[1], offset: ?>>
    %3 = memref.dim %w, %c0 : memref<?xf32, strided<[?], offset: ?>>
    %4 = tensor.dim %t, %c0 : tensor<?xf32>
    affine.for %j = 0 to affine_map<()[s0, s1, s2] -> (s0 + s1 + s2)>()[%1, %2, %3] {
      affine.for %k = affine_map<(d0) -> (d0)>(%0) to %4 {
      }
    }
  }
  return
}

func.func @functions_of_dimensions(%m: memref<?xf32>, %n: index) {
  affine.for %i = 0 to 10 {
    %0 = affine.apply affine_map<(d0)[s0] -> (d0 * 2 + s0)>(%i)[%n]
    %1:2 = affine.delinearize_index %0 into (2, 5) : index, index
    %2 = affine.linearize_index [%1#0, %i] by (2, 5) : index
    %3 = affine.load %m[%1#1 + %2] : memref<?xf32>
    affine.for %j = affine_map<(d0) -> (d0)>(%2) to 100 {
    }
  }
  return
}

func.func @any_index_in_apply_min_max(%n: index) {
  scf.for %i = %n to %n step %n {
    %0 = affine.min affine_map<(d0)[s0] -> (d0, s0)>(%i)[%n]
    %1 = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%0]
    %2 = affine.max affine_map<()[s0] -> (s0, 4)>()[%i]
  }
  return
}

func.func @threads(%m: memref<4x4xf32>, %n: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n)
      threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    %0 = gpu.thread_id x
    %1 = affine.load %m[%bx, %tx] : memref<4x4xf32>
    %2 = affine.load %m[%0, symbol(%0)] : memref<4x4xf32>
    gpu.terminator
  }
  return
}

// A divisor that is zero or negative is read as it stands.
func.func @divisors(%n: index) {
  affine.for %i = 0 to 10 {
    %0 = affine.apply affine_map<(d0) -> (d0 mod 0)>(%i)
    %1 = affine.apply affine_map<(d0) -> (d0 floordiv -2)>(%i)
    %2 = affine.apply affine_map<(d0)[s0] -> (d0 ceildiv s0)>(%i)[%n]
  }
  return
}

// A value keeps the role in which it comes first.
func.func @roles(%m: memref<?xf32>, %n: index) {
  %0 = affine.load %m[%n + symbol(%n)] : memref<?xf32>
  %1 = affine.load %m[symbol(%n) * 3 + %n] : memref<?xf32>
  affine.parallel (%i, %j) = (symbol(%n), 0) to (%n, min(%n + 1, symbol(%n))) {
  }
  return
}

func.func @vectors(%v: vector<8xindex>, %n: index) -> vector<8xindex> {
  %0:2 = affine.delinearize_index %v into (%n, 4) : vector<8xindex>, vector<8xindex>
  %1 = affine.linearize_index disjoint [%0#0, %0#1] by (4) : vector<8xindex>
  return %1 : vector<8xindex>
}
