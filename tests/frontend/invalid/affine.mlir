// a loop's bound is a symbol or a dimension
func.func @f(%m: memref<8xindex>, %i: index) {
  %n = memref.load %m[%i] : memref<8xindex>
  scf.for %j = %i to %i step %i {
    %k = memref.load %m[%j] : memref<8xindex>
    affine.for %l = 0 to %k {
//  ^ V011
    }
  }
  return
}

// -----

// a subscript is a dimension
func.func @f(%m: memref<8xf32>, %x: memref<8xindex>) {
  affine.for %i = 0 to 8 {
    %j = memref.load %x[%i] : memref<8xindex>
    %0 = affine.load %m[%j] : memref<8xf32>
//       ^ V011
  }
  return
}

// -----

// a loop variable is no symbol
func.func @f(%m: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %0 = affine.load %m[symbol(%i)] : memref<8xf32>
//       ^ V011
  }
  return
}

// -----

// a function of a loop variable is no symbol
func.func @f() {
  affine.for %i = 0 to 8 {
    %0 = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    %1 = affine.apply affine_map<()[s0] -> (s0)>()[%0]
//       ^ V011
  }
  return
}

// -----

// a variable of another kind of loop is no dimension
func.func @f(%n: index, %m: memref<8xf32>) {
  scf.for %i = %n to %n step %n {
    %0 = affine.load %m[%i] : memref<8xf32>
//       ^ V011
  }
  return
}

// -----

// a product of two variables is not affine
func.func @f(%m: memref<64xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %0 = affine.load %m[%i * %j] : memref<64xf32>
//                           ^ P022
    }
  }
  return
}

// -----

// a subscript is not divided by a variable
func.func @f(%m: memref<64xf32>) {
  affine.for %i = 0 to 8 {
    %0 = affine.load %m[%i floordiv %i] : memref<64xf32>
//                         ^ P022
  }
  return
}

// -----

// a subscript is an index
func.func @f(%m: memref<64xf32>, %i: i32) {
  %0 = affine.load %m[%i] : memref<64xf32>
//                    ^ P014
  return
}

// -----

// a subscript is defined
func.func @f(%m: memref<64xf32>) {
  %0 = affine.load %m[%i] : memref<64xf32>
//                    ^ P006
  return
}

// -----

// a load has one subscript per dimension
func.func @f(%m: memref<8x8xf32>, %i: index) {
  %0 = affine.load %m[%i] : memref<8x8xf32>
//     ^ V013
  return
}

// -----

// a store has one subscript per dimension
func.func @f(%m: memref<8xf32>, %i: index, %x: f32) {
  affine.store %x, %m[%i, %i] : memref<8xf32>
//^ V013
  return
}

// -----

// a stored value has the element type
func.func @f(%m: memref<8xf32>, %i: index, %x: f64) {
  affine.store %x, %m[%i] : memref<8xf32>
//             ^ P014
  return
}

// -----

// a load is from a memref
func.func @f(%m: tensor<8xf32>, %i: index) {
  %0 = affine.load %m[%i] : tensor<8xf32>
//                 ^ V021
  return
}

// -----

// a load in generic form has as many indices as its map
func.func @f(%m: memref<8xf32>, %i: index) {
  %0 = "affine.load"(%m, %i) <{map = affine_map<(d0, d1) -> (d0)>}> : (memref<8xf32>, index) -> f32
//     ^ V012
  return
}

// -----

// a load in generic form has a map
func.func @f(%m: memref<8xf32>, %i: index) {
  %0 = "affine.load"(%m, %i) : (memref<8xf32>, index) -> f32
//     ^ V014
  return
}

// -----

// a map is applied to as many dimensions as it has
func.func @f(%i: index) {
  %0 = affine.apply affine_map<(d0, d1) -> (d0)>(%i)
//                                              ^ V012
  return
}

// -----

// a map is applied to as many symbols as it has
func.func @f(%i: index) {
  %0 = affine.apply affine_map<(d0)[s0] -> (d0)>(%i)
//                                              ^ V012
  return
}

// -----

// an applied map has one result
func.func @f(%i: index) {
  %0 = affine.apply affine_map<(d0) -> (d0, d0)>(%i)
//^ P016
  return
}

// -----

// a map is applied to indices
func.func @f(%i: i32) {
  %0 = affine.apply affine_map<(d0) -> (d0)>(%i)
//                                           ^ P014
  return
}

// -----

// an applied map gives an index
func.func @f(%i: index) {
  %0 = "affine.apply"(%i) <{map = affine_map<(d0) -> (d0)>}> : (index) -> i32
//     ^ V021
  return
}

// -----

// a minimum has a result
func.func @f(%i: index) {
  %0 = affine.min affine_map<(d0, d1) -> (d0)>(%i)
//                                            ^ V012
  return
}

// -----

// a lower bound of several results is a maximum
#m = affine_map<(d0) -> (d0, 4)>
func.func @f(%i: index) {
  affine.for %j = #m(%i) to 8 {
//                ^ P026
  }
  return
}

// -----

// an upper bound of several results is a minimum
#m = affine_map<(d0) -> (d0, 4)>
func.func @f(%i: index) {
  affine.for %j = 0 to #m(%i) {
//                     ^ P026
  }
  return
}

// -----

// a lower bound is no minimum
#m = affine_map<(d0) -> (d0, 4)>
func.func @f(%i: index) {
  affine.for %j = min #m(%i) to 8 {
//                ^ P008
  }
  return
}

// -----

// a bound's map takes as many operands as it has inputs
#m = affine_map<(d0) -> (d0)>
func.func @f() {
  affine.for %j = 0 to #m() {
//                       ^ V012
  }
  return
}

// -----

// a step is positive
func.func @f() {
  affine.for %i = 0 to 8 step 0 {
//                            ^ P026
  }
  return
}

// -----

// a step is a number
func.func @f(%n: index) {
  affine.for %i = 0 to 8 step %n {
//                            ^ P001
  }
  return
}

// -----

// bounds are divided by the word to
func.func @f() {
  affine.for %i = 0 , 8 {
//                  ^ P001
  }
  return
}

// -----

// a bound is an index
func.func @f(%n: i32) {
  affine.for %i = 0 to %n {
//                     ^ P014
  }
  return
}

// -----

// a loop variable is a value
func.func @f() {
  affine.for i = 0 to 8 {
//           ^ P001
  }
  return
}

// -----

// there are as many types as carried values
func.func @f(%x: f32) {
  %0 = affine.for %i = 0 to 8 iter_args(%s = %x) -> (f32, f32) {
//                                     ^ P015
    affine.yield %s : f32
  }
  return
}

// -----

// a loop with carried values yields them
func.func @f(%x: f32) {
  %0 = affine.for %i = 0 to 8 iter_args(%s = %x) -> (f32) {
//     ^ V004
  }
  return
}

// -----

// a loop yields the carried types
func.func @f(%x: f32) {
  %0 = affine.for %i = 0 to 8 iter_args(%s = %x) -> (f32) {
    affine.yield %i : index
//               ^ V017
  }
  return
}

// -----

// a loop without carried values yields none
func.func @f(%x: f32) {
  affine.for %i = 0 to 8 {
    affine.yield %x : f32
//  ^ V017
  }
  return
}

// -----

// a conditional has a set
func.func @f(%i: index) {
  affine.if %i {
//          ^ P001
  }
  return
}

// -----

// a set takes as many dimensions as it has
#s = affine_set<(d0, d1) : (d0 - d1 >= 0)>
func.func @f(%i: index) {
  affine.if #s(%i) {
//            ^ V012
  }
  return
}

// -----

// a set takes as many symbols as it has
#s = affine_set<(d0)[s0] : (d0 - s0 >= 0)>
func.func @f(%i: index) {
  affine.if #s(%i) {
//            ^ V012
  }
  return
}

// -----

// a condition's operands are dimensions
#s = affine_set<(d0) : (d0 >= 0)>
func.func @f(%n: index) {
  scf.for %i = %n to %n step %n {
    affine.if #s(%i) {
//  ^ V011
    }
  }
  return
}

// -----

// a conditional with results has an else branch
#s = affine_set<(d0) : (d0 >= 0)>
func.func @f(%n: index, %x: f32) {
  %0 = affine.if #s(%n) -> f32 {
//     ^ V022
    affine.yield %x : f32
  }
  return
}

// -----

// both branches yield the results
#s = affine_set<(d0) : (d0 >= 0)>
func.func @f(%n: index, %x: f32) {
  %0 = affine.if #s(%n) -> f32 {
    affine.yield %x : f32
  } else {
    affine.yield %n : index
//               ^ V017
  }
  return
}

// -----

// a parallel loop has one bound per variable
func.func @f() {
  affine.parallel (%i, %j) = (0, 0) to (8) {
//                                     ^ P026
  }
  return
}

// -----

// a parallel loop has one step per variable
func.func @f() {
  affine.parallel (%i, %j) = (0, 0) to (8, 8) step (1) {
//^ V016
  }
  return
}

// -----

// a parallel loop names one reduction per result
func.func @f(%x: f32) {
  %0 = affine.parallel (%i) = (0) to (8) reduce ("unknown") -> f32 {
//                                               ^ P001
    affine.yield %x : f32
  }
  return
}

// -----

// a parallel loop reduces to as many results as it names
func.func @f(%x: f32) {
  %0:2 = affine.parallel (%i) = (0) to (8) reduce ("addf") -> (f32, f32) {
//       ^ V016
    affine.yield %x, %x : f32, f32
  }
  return
}

// -----

// a vector fits the memref's element type
func.func @f(%m: memref<64xf32>) {
  %0 = affine.vector_load %m[0] : memref<64xf32>, vector<4xf64>
//     ^ V001
  return
}

// -----

// a prefetch is of data or instructions
func.func @f(%m: memref<64xf32>) {
  affine.prefetch %m[0], read, locality<3>, cache : memref<64xf32>
//                                          ^ P001
  return
}

// -----

// a transfer has one subscript per dimension
func.func @f(%a: memref<8x8xf32>, %b: memref<8xf32, 2>, %t: memref<1xi32>, %n: index) {
  affine.dma_start %a[0], %b[0], %t[0], %n : memref<8x8xf32>, memref<8xf32, 2>, memref<1xi32>
//^ V013
  return
}

// -----

// a wait has one subscript per dimension
func.func @f(%t: memref<1xi32>, %n: index) {
  affine.dma_wait %t[0, 0], %n : memref<1xi32>
//^ V013
  return
}
