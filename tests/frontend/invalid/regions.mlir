// a value does not leave its region
func.func @f(%c: i1) -> i32 {
  scf.if %c {
    %x = arith.constant 1 : i32
  }
  return %x : i32
//       ^ P006
}

// -----

// a value does not leave a region of an unknown operation
func.func @f() {
  "accelerator.launch"() ({
    %x = arith.constant 1 : i32
    "accelerator.end"() : () -> ()
  }) : () -> ()
  "test.use"(%x) : (i32) -> ()
//           ^ P006
  return
}

// -----

// a value does not reach a sibling region
func.func @f(%c: i1) {
  scf.if %c {
    %x = arith.constant 1 : i32
  } else {
    "test.use"(%x) : (i32) -> ()
//             ^ P006
  }
  return
}

// -----

// a loop variable ends with its loop
func.func @f(%m: memref<8xf32>) {
  affine.for %i = 0 to 8 {
  }
  %0 = affine.load %m[%i] : memref<8xf32>
//                    ^ P006
  return
}

// -----

// a function does not see values outside
%c = arith.constant 1 : i32
func.func @f() -> i32 {
  return %c : i32
//       ^ P006
}

// -----

// a module does not see values outside
%c = arith.constant 1 : i32
module {
  "test.use"(%c) : (i32) -> ()
//           ^ P006
}

// -----

// a function in generic form does not see values outside
%c = arith.constant 1 : i32
"func.func"() <{function_type = () -> i32, sym_name = "f"}> ({
  func.return %c : i32
//            ^ P006
}) : () -> ()

// -----

// a function within a function does not see its values
func.func @f(%a: i32) {
  "test.region"() ({
    func.func @g() -> i32 {
      return %a : i32
//           ^ P006
    }
  }) : () -> ()
  return
}

// -----

// a conditional has two regions
func.func @f(%c: i1) {
  "scf.if"(%c) ({
//^ V022
    scf.yield
  }) : (i1) -> ()
  return
}

// -----

// an addition has no region
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a, %a) ({
//     ^ V022
  }) : (i32, i32) -> i32
  return
}

// -----

// a loop has one region
func.func @f(%n: index) {
  "scf.for"(%n, %n, %n) : (index, index, index) -> ()
//^ V022
  return
}

// -----

// a loop's region has a block
func.func @f(%n: index) {
  "scf.for"(%n, %n, %n) ({
//^ V022
  }) : (index, index, index) -> ()
  return
}

// -----

// an affine loop's region has a block
func.func @f() {
  "affine.for"() <{lowerBoundMap = affine_map<() -> (0)>, upperBoundMap = affine_map<() -> (4)>, step = 1 : index, operandSegmentSizes = array<i32: 0, 0, 0>}> ({
//^ V022
  }) : () -> ()
  return
}

// -----

// an affine loop's region has only one block
func.func @f() {
  "affine.for"() <{lowerBoundMap = affine_map<() -> (0)>, upperBoundMap = affine_map<() -> (4)>, step = 1 : index, operandSegmentSizes = array<i32: 0, 0, 0>}> ({
//^ V022
  ^a(%i: index):
    cf.br ^b
  ^b:
    affine.yield
  }) : () -> ()
  return
}

// -----

// a conditional's region has only one block
func.func @f(%c: i1) {
  scf.if %c {
//^ V022
    cf.br ^a
  ^a:
    scf.yield
  }
  return
}

// -----

// a module's region has only one block
  module {
//^ V022
    "test.a"() : () -> ()
  ^a:
    "test.b"() : () -> ()
  }

// -----

// a module's block has no arguments
  "builtin.module"() ({
//^ V022
  ^a(%x: i32):
  }) : () -> ()

// -----

// a loop's body takes the variable
func.func @f(%n: index) {
  "scf.for"(%n, %n, %n) ({
//^ V016
    scf.yield
  }) : (index, index, index) -> ()
  return
}

// -----

// a loop's variable has the type of its bounds
func.func @f(%n: index) {
  "scf.for"(%n, %n, %n) ({
//^ V001
  ^a(%i: i32):
    scf.yield
  }) : (index, index, index) -> ()
  return
}

// -----

// a conditional's branch takes no arguments
func.func @f(%c: i1) {
  "scf.if"(%c) ({
//^ V022
  ^a(%i: i32):
    scf.yield
  }, {
  }) : (i1) -> ()
  return
}

// -----

// a yield belongs to a loop or a conditional
func.func @f() {
  scf.yield
//^ V023
}

// -----

// a yield of one dialect does not end a loop of another
func.func @f() {
  affine.for %i = 0 to 4 {
    scf.yield
//  ^ V023
  }
  return
}

// -----

// an affine yield belongs to an affine operation
func.func @f(%c: i1) {
  scf.if %c {
    affine.yield
//  ^ V023
  }
  return
}

// -----

// a return belongs to a function
func.func @f(%c: i1) {
  scf.if %c {
    func.return
//  ^ V023
  }
  return
}

// -----

// a return is not at the top level
  func.return
//^ V023

// -----

// a branch does not end a loop
func.func @f() {
  affine.for %i = 0 to 4 {
    ub.unreachable
//  ^ V004
  }
  return
}

// -----

// a condition belongs to a while loop
func.func @f(%c: i1) {
  scf.condition(%c)
//^ V023
}

// -----

// a yield gives what the operation returns
func.func @f(%c: i1) {
  %0 = scf.if %c -> (i32) {
    %x = arith.constant 1 : i64
    scf.yield %x : i64
//            ^ V017
  } else {
    %y = arith.constant 1 : i32
    scf.yield %y : i32
  }
  return
}

// -----

// a yield gives as many values as there are results
func.func @f(%c: i1, %x: i32) {
  %0 = scf.if %c -> (i32) {
    scf.yield %x, %x : i32, i32
//  ^ V017
  } else {
    scf.yield %x : i32
  }
  return
}

// -----

// a conditional with results has an else branch
func.func @f(%c: i1, %x: i32) {
  %0 = scf.if %c -> (i32) {
//     ^ V022
    scf.yield %x : i32
  }
  return
}

// -----

// a yield gives the carried types
func.func @f(%n: index, %x: f32, %y: f64) {
  %0 = scf.for %i = %n to %n step %n iter_args(%s = %x) -> (f32) {
    scf.yield %y : f64
//            ^ V017
  }
  return
}

// -----

// an initial value has the carried type
func.func @f(%n: index, %x: f32) {
  %0 = scf.for %i = %n to %n step %n iter_args(%s = %x) -> (f64) {
//                                                  ^ P014
    scf.yield %s : f64
  }
  return
}

// -----

// a while loop passes its condition's values on
func.func @f(%c: i1, %x: f32) {
  %0 = scf.while (%a = %x) : (f32) -> f64 {
    scf.condition(%c) %a : f32
//  ^ V017
  } do {
  ^bb0(%b: f64):
    scf.yield %x : f32
  }
  return
}

// -----

// a while loop ends its first region in a condition
func.func @f(%c: i1, %x: f32) {
  scf.while : () -> () {
    scf.yield
//  ^ V004
  } do {
    scf.yield
  }
  return
}

// -----

// regions are divided by commas
func.func @f() {
  "test.regions"() ({
  } {
//  ^ P004
  }) : () -> ()
  return
}

// -----

// the region of an unknown operation closes
func.func @f() {
  "test.regions"() ({
  ) : () -> ()
//^ P001
  return
}
