// the size of an allocation by a loop variable is no symbol
func.func @f() {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 10 {
    %m = memref.alloc(%i) : memref<?xf32>
    %d = memref.dim %m, %c0 : memref<?xf32>
    affine.for %k = 0 to %d {
//  ^ V011
    }
  }
  return
}

// -----

// the size of a view by a loop variable is no symbol
func.func @f(%m: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 10 {
    %s = memref.subview %m[%i] [%i] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %d = memref.dim %s, %c0 : memref<?xf32, strided<[1], offset: ?>>
    affine.for %k = 0 to affine_map<()[s0] -> (s0)>()[%d] {
//  ^ V011
    }
  }
  return
}

// -----

// the size of what an unknown operation gives in a loop is no symbol
func.func @f() {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 10 {
    %m = "t.make"() : () -> memref<?xf32>
    %d = memref.dim %m, %c0 : memref<?xf32>
    affine.for %k = 0 to affine_map<()[s0] -> (s0)>()[%d] {
//  ^ V011
    }
  }
  return
}

// -----

// a minimum over a loop variable is no dimension
func.func @f(%m: memref<10xf32>) {
  affine.for %i = 0 to 10 {
    %0 = affine.min affine_map<(d0) -> (d0, 5)>(%i)
    %1 = affine.load %m[%0] : memref<10xf32>
//       ^ V011
  }
  return
}

// -----

// a sum over a loop variable is no dimension
func.func @f(%m: memref<10xf32>) {
  affine.for %i = 0 to 10 {
    %0 = arith.addi %i, %i : index
    %1 = affine.load %m[%0] : memref<10xf32>
//       ^ V011
  }
  return
}

// -----

// a carried value is no dimension
func.func @f(%m: memref<10xf32>, %n: index) {
  %r = affine.for %i = 0 to 10 iter_args(%a = %n) -> (index) {
    %0 = affine.load %m[%a] : memref<10xf32>
//       ^ V011
    affine.yield %a : index
  }
  return
}

// -----

// a variable of a parallel loop of scf is no dimension
func.func @f(%m: memref<10xf32>, %n: index) {
  scf.parallel (%i) = (%n) to (%n) step (%n) {
    %0 = affine.load %m[%i] : memref<10xf32>
//       ^ V011
  }
  return
}

// -----

// a function of other values is no dimension
func.func @f(%m: memref<10xf32>, %n: index) {
  scf.for %i = %n to %n step %n {
    %0 = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i]
    %1 = affine.load %m[%0] : memref<10xf32>
//       ^ V011
  }
  return
}

// -----

// a dimension is no symbol of an apply
func.func @f() {
  affine.for %i = 0 to 10 {
    %0 = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %1 = affine.apply affine_map<()[s0] -> (s0)>()[%0]
//       ^ V011
  }
  return
}

// -----

// a value computed in a branch is no symbol inside it
func.func @f(%c: i1) {
  scf.if %c {
    %n = "t.number"() : () -> index
    affine.for %i = 0 to %n {
//  ^ V011
    }
  }
  return
}
