// a branch goes to a block that exists
func.func @f() {
  cf.br ^b
//      ^ P017
}

// -----

// a conditional branch goes to blocks that exist
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
//                   ^ P017
^a:
  return
}

// -----

// labels are unique
  func.func @f() {
    cf.br ^a
  ^a:
    return
  ^a:
//^ P018
    return
  }

// -----

// the entry block is no successor
func.func @f() {
^entry:
  cf.br ^entry
//      ^ V019
}

// -----

// the entry block is no successor from afar
func.func @f(%c: i1) {
^entry:
  cf.br ^a
^a:
  cf.cond_br %c, ^b, ^entry
//                   ^ V019
^b:
  return
}

// -----

// a branch passes what the block takes
func.func @f() {
  cf.br ^a
//      ^ V018
^a(%x: i32):
  return
}

// -----

// a branch passes no more than the block takes
func.func @f(%a: i32) {
  cf.br ^a(%a : i32)
//      ^ V018
^a:
  return
}

// -----

// a branch passes values of the block's types
func.func @f(%a: i32) {
  cf.br ^a(%a : i32)
//         ^ V018
^a(%x: i64):
  return
}

// -----

// a passed value in the middle has the block's type
func.func @f(%a: i32, %b: i64) {
  cf.br ^a(%a, %b, %a : i32, i64, i32)
//             ^ V018
^a(%x: i32, %y: i32, %z: i32):
  return
}

// -----

// both targets of a conditional branch take what is passed
func.func @f(%c: i1, %a: i32) {
  cf.cond_br %c, ^a(%a : i32), ^a
//                             ^ V018
^a(%x: i32):
  return
}

// -----

// the condition of a branch is i1
func.func @f(%c: i32) {
  cf.cond_br %c, ^a, ^a
//           ^ P014
^a:
  return
}

// -----

// a conditional branch in generic form has a condition of i1
func.func @f(%c: i32) {
  "cf.cond_br"(%c)[^a, ^a] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
//             ^ V021
^a:
  return
}

// -----

// a conditional branch has two targets
  func.func @f(%c: i1) {
    cf.cond_br %c, ^a
  ^a:
//^ P001
    return
  }

// -----

// a conditional branch in generic form has two targets
func.func @f(%c: i1) {
  "cf.cond_br"(%c)[^a] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
//^ V024
^a:
  return
}

// -----

// a return has no successors
func.func @f() {
  "func.return"()[^a] : () -> ()
//^ V024
^a:
  return
}

// -----

// an addition has no successors
func.func @f(%a: i32) {
  %0 = "arith.addi"(%a, %a)[^a] : (i32, i32) -> i32
//     ^ V024
^a:
  return
}

// -----

// passed values have a type each
func.func @f(%a: i32) {
  cf.br ^a(%a, %a : i32)
//         ^ P015
^a(%x: i32, %y: i32):
  return
}

// -----

// the last operation is a terminator
func.func @f() {
  %0 = arith.constant 1 : i32
//     ^ V004
}

// -----

// the last operation of every block is a terminator
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  %0 = arith.constant 1 : i32
//     ^ V004
^b:
  return
}

// -----

// a block is not empty
  func.func @f() {
//^ V004
    cf.br ^a
  ^a:
  }

// -----

// a terminator is the last operation
func.func @f() {
  return
//^ V005
  return
}

// -----

// a branch is the last operation
func.func @f() {
  cf.br ^a
//^ V005
  %0 = arith.constant 1 : i32
^a:
  return
}

// -----

// an unknown operation that branches is the last operation
func.func @f() {
  "test.br"()[^a] : () -> ()
//^ V005
  cf.br ^a
^a:
  return
}

// -----

// a region of several blocks has no empty one
func.func @f() {
  "test.region"() ({
//^ V004
    "test.br"()[^a] : () -> ()
  ^a:
  }) : () -> ()
  return
}

// -----

// a block of an unknown operation ends in what may be a terminator
func.func @f() {
  "test.region"() ({
    "test.br"()[^a] : () -> ()
  ^a:
    %0 = arith.constant 1 : i32
//       ^ V004
  }) : () -> ()
  return
}

// -----

// a label is followed by a colon
func.func @f() {
  cf.br ^a
^a
  return
//^ P001
}

// -----

// a block argument has a type
func.func @f() {
  cf.br ^a
^a(%x):
//   ^ P001
  return
}

// -----

// a region belongs to one list of blocks
func.func @f(%c: i1) {
  scf.if %c {
    cf.br ^a
//        ^ P017
  }
  return
^a:
  return
}

// -----

// a branch does not enter a nested region
func.func @f(%c: i1) {
  "test.region"() ({
  ^a:
    "test.end"() : () -> ()
  }) : () -> ()
  cf.br ^a
//      ^ P017
}

// -----

// a block of another function is no target
func.func @f() {
  cf.br ^a
^a:
  return
}
func.func @g() {
  cf.br ^a
//      ^ P017
}

// -----

// a switch has as many values as targets
func.func @f(%a: i32) {
  "cf.switch"(%a)[^a, ^a] <{case_operand_segments = array<i32: 0>, case_values = dense<[1, 2]> : vector<2xi32>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
//^ V024
^a:
  return
}

// -----

// a switch starts with its default
func.func @f(%a: i32) {
  cf.switch %a : i32, [1: ^a]
//                     ^ P001
^a:
  return
}

// -----

// the segments of a branch add up
func.func @f(%c: i1, %a: i32) {
  "cf.cond_br"(%c, %a)[^a, ^b] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1, i32) -> ()
//^ V002
^a:
  return
^b:
  return
}
