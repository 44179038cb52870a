// Functions along the rows of a matrix: as linalg, and as the loops that one writes.

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

func.func @row_max(%x: memref<?x?xf32>, %s: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  %least = arith.constant 0xFF800000 : f32
  affine.for %i = 0 to %m {
    %most = affine.for %j = 0 to %n iter_args(%t = %least) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<?x?xf32>
      %r = arith.maximumf %t, %v : f32
      affine.yield %r : f32
    }
    affine.store %most, %s[%i] : memref<?xf32>
  }
  return
}

func.func @softmax(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  linalg.softmax dimension(1) ins(%x : memref<?x?xf32>) outs(%y : memref<?x?xf32>)
  return
}

func.func @softmax_loops(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  affine.for %i = 0 to %m {
    %most = affine.for %j = 0 to %n iter_args(%t = %least) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<?x?xf32>
      %r = arith.maximumf %t, %v : f32
      affine.yield %r : f32
    }
    %sum = affine.for %j = 0 to %n iter_args(%t = %zero) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<?x?xf32>
      %d = arith.subf %v, %most : f32
      %e = math.exp %d : f32
      affine.store %e, %y[%i, %j] : memref<?x?xf32>
      %r = arith.addf %t, %e fastmath<reassoc> : f32
      affine.yield %r : f32
    }
    affine.for %j = 0 to %n {
      %e = affine.load %y[%i, %j] : memref<?x?xf32>
      %q = arith.divf %e, %sum : f32
      affine.store %q, %y[%i, %j] : memref<?x?xf32>
    }
  }
  return
}

func.func @layernorm(%x: memref<?x?xf32>, %scale: memref<?xf32>,
    %shift: memref<?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %n32 = arith.index_cast %n : index to i32
  %length = arith.sitofp %n32 : i32 to f32
  %sums = memref.alloc(%m) : memref<?xf32>
  %squares = memref.alloc(%m) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<?xf32>)
  linalg.fill ins(%zero : f32) outs(%squares : memref<?xf32>)
  linalg.reduce ins(%x : memref<?x?xf32>) outs(%sums : memref<?xf32>) dimensions = [1]
    (%v: f32, %t: f32) {
      %r = arith.addf %t, %v : f32
      linalg.yield %r : f32
    }
  linalg.generic {indexing_maps = [#full, #row, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %sums : memref<?x?xf32>, memref<?xf32>)
      outs(%squares : memref<?xf32>) {
    ^bb0(%v: f32, %t: f32, %o: f32):
      %mean = arith.divf %t, %length : f32
      %d = arith.subf %v, %mean : f32
      %q = arith.mulf %d, %d : f32
      %r = arith.addf %o, %q : f32
      linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#full, #row, #row, #column, #column, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %sums, %squares, %scale, %shift : memref<?x?xf32>, memref<?xf32>,
          memref<?xf32>, memref<?xf32>, memref<?xf32>)
      outs(%y : memref<?x?xf32>) {
    ^bb0(%v: f32, %t: f32, %q: f32, %w: f32, %b: f32, %o: f32):
      %mean = arith.divf %t, %length : f32
      %variance = arith.divf %q, %length : f32
      %positive = arith.addf %variance, %epsilon : f32
      %root = math.rsqrt %positive : f32
      %d = arith.subf %v, %mean : f32
      %e = arith.mulf %d, %root : f32
      %g = arith.mulf %e, %w : f32
      %r = arith.addf %g, %b : f32
      linalg.yield %r : f32
  }
  memref.dealloc %sums : memref<?xf32>
  memref.dealloc %squares : memref<?xf32>
  return
}

func.func @layernorm_loops(%x: memref<?x?xf32>, %scale: memref<?xf32>,
    %shift: memref<?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %n32 = arith.index_cast %n : index to i32
  %length = arith.sitofp %n32 : i32 to f32
  affine.for %i = 0 to %m {
    %sum = affine.for %j = 0 to %n iter_args(%t = %zero) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<?x?xf32>
      %r = arith.addf %t, %v fastmath<reassoc> : f32
      affine.yield %r : f32
    }
    %mean = arith.divf %sum, %length : f32
    %squares = affine.for %j = 0 to %n iter_args(%t = %zero) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<?x?xf32>
      %d = arith.subf %v, %mean : f32
      %q = arith.mulf %d, %d : f32
      %r = arith.addf %t, %q fastmath<reassoc> : f32
      affine.yield %r : f32
    }
    %variance = arith.divf %squares, %length : f32
    %positive = arith.addf %variance, %epsilon : f32
    %root = math.rsqrt %positive : f32
    affine.for %j = 0 to %n {
      %v = affine.load %x[%i, %j] : memref<?x?xf32>
      %w = affine.load %scale[%j] : memref<?xf32>
      %b = affine.load %shift[%j] : memref<?xf32>
      %d = arith.subf %v, %mean : f32
      %e = arith.mulf %d, %root : f32
      %g = arith.mulf %e, %w : f32
      %r = arith.addf %g, %b : f32
      affine.store %r, %y[%i, %j] : memref<?x?xf32>
    }
  }
  return
}
