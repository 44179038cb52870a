// a value is defined
func.func @f(%a: i32) -> i32 {
  return %b : i32
//       ^ P006
}

// -----

// a value of another function is not visible
func.func @f(%a: i32) {
  return
}
func.func @g() -> i32 {
  return %a : i32
//       ^ P006
}

// -----

// a value has one definition
func.func @f(%a: i32) {
  %b = arith.constant 1 : i32
  %b = arith.constant 2 : i32
//^ P007
  return
}

// -----

// an argument's name is taken
func.func @f(%a: i32) {
  %a = arith.constant 2 : i32
//^ P007
  return
}

// -----

// arguments have different names
func.func @f(%a: i32, %a: i64) {
//                    ^ P007
  return
}

// -----

// a block argument's name is taken in the region
func.func @f(%a: i32) {
  cf.br ^b(%a : i32)
^b(%a: i32):
// ^ P007
  return
}

// -----

// a nested region does not redefine a name
func.func @f(%a: i32, %c: i1) {
  scf.if %c {
    %a = arith.constant 2 : i32
//  ^ P007
  }
  return
}

// -----

// a loop variable's name is taken
func.func @f(%i: index) {
  affine.for %i = 0 to 4 {
//           ^ P007
  }
  return
}

// -----

// a definition precedes its uses in a block
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %1 : i32
//                    ^ V006
  %1 = arith.addi %a, %a : i32
  return %0 : i32
}

// -----

// an operation does not use its own result
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %0 : i32
//                    ^ V006
  return %0 : i32
}

// -----

// a forward use has the type of its definition
func.func @f(%a: i32) {
  cf.br ^b
^c:
  "test.use"(%x) : (f32) -> ()
//           ^ P014
  return
^b:
  %x = arith.constant 1 : i32
  cf.br ^c
}

// -----

// two forward uses agree in type
func.func @f() {
  "test.use"(%x) : (f32) -> ()
  "test.use"(%x) : (i32) -> ()
//           ^ P014
  return
}

// -----

// a forward use is followed by a definition
func.func @f() {
  "test.use"(%x) : (f32) -> ()
//           ^ P006
  return
}

// -----

// a use has the type of its definition
func.func @f(%a: i32) {
  "test.use"(%a) : (i64) -> ()
//           ^ P014
  return
}

// -----

// a name stands for as many results as there are
func.func @f(%a: i32) {
  %0:2 = arith.addi %a, %a : i32
//^ P016
  return
}

// -----

// all results are named
func.func @f() {
  %0:2 = "test.three"() : () -> (i32, i32, i32)
//^ P016
  return
}

// -----

// two names need two results
func.func @f(%a: i32) {
  %0, %1 = arith.addi %a, %a : i32
//^ P016
  return
}

// -----

// an operation without results names none
func.func @f() {
  %0 = func.return
//^ P016
}

// -----

// a generic operation without results names none
func.func @f(%a: i64) {
  %0 = "accelerator.launch"(%a) : (i64) -> ()
//^ P016
  return
}

// -----

// a result number is in range
func.func @f() {
  %0:2 = "test.two"() : () -> (i32, i32)
  "test.use"(%0#2) : (i32) -> ()
//           ^ P026
  return
}

// -----

// a forward result number is in range
func.func @f() {
  "test.use"(%0#2) : (i32) -> ()
//           ^ P006
  %0:2 = "test.two"() : () -> (i32, i32)
  return
}

// -----

// a single result has number zero
func.func @f(%a: i32) {
  "test.use"(%a#1) : (i32) -> ()
//           ^ P026
  return
}

// -----

// a count of results is positive
func.func @f() {
  %0:0 = "test.none"() : () -> ()
//^ P020
  return
}

// -----

// a number follows the colon of a result
func.func @f() {
  %0:x = "test.none"() : () -> i32
//   ^ P001
  return
}

// -----

// an equals sign follows the results
func.func @f() {
  %0 "test.none"() : () -> i32
//   ^ P001
  return
}

// -----

// there are as many types as operands
func.func @f(%a: i32) {
  "test.use"(%a, %a) : (i32) -> ()
//                     ^ P015
  return
}

// -----

// there are no more types than operands
func.func @f(%a: i32) {
  "test.use"(%a) : (i32, i32) -> ()
//                 ^ P015
  return
}

// -----

// operands of a generic operation are values
func.func @f(%a: i32) {
  "test.use"(42) : (i32) -> ()
//           ^ P001
  return
}

// -----

// a generic operation has a type
func.func @f(%a: i32) {
  "test.use"(%a)
  return
//^ P001
}

// -----

// values of one branch do not reach the other
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  %x = arith.constant 1 : i32
  return
^b:
  "test.use"(%x) : (i32) -> ()
//           ^ V006
  return
}

// -----

// values of one branch do not reach the join
func.func @f(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  %x = arith.constant 1 : i32
  cf.br ^c
^b:
  cf.br ^c
^c:
  "test.use"(%x) : (i32) -> ()
//           ^ V006
  return
}

// -----

// a block argument does not reach a block it does not dominate
func.func @f(%c: i1, %v: i32) {
  cf.cond_br %c, ^a(%v : i32), ^b
^a(%x: i32):
  cf.br ^b
^b:
  "test.use"(%x) : (i32) -> ()
//           ^ V006
  return
}

// -----

// a loop's body does not dominate its head
func.func @f(%c: i1) {
  cf.br ^head
^head:
  "test.use"(%x) : (i32) -> ()
//           ^ V006
  cf.cond_br %c, ^body, ^end
^body:
  %x = arith.constant 1 : i32
  cf.br ^head
^end:
  return
}

// -----

// a passed value dominates the branch
func.func @f() {
  cf.br ^a(%x : i32)
//         ^ V006
^a(%v: i32):
  %x = arith.constant 1 : i32
  return
}

// -----

// an unreachable block does not define for a reachable one
func.func @f() {
  cf.br ^b
^a:
  %x = arith.constant 1 : i32
  cf.br ^b
^b:
  "test.use"(%x) : (i32) -> ()
//           ^ V006
  return
}

// -----

// a nested use is dominated as well
func.func @f(%c: i1) {
  scf.if %c {
    "test.use"(%x) : (i32) -> ()
//             ^ V006
  }
  %x = arith.constant 1 : i32
  return
}

// -----

// a use within a region of the defining operation comes too early
func.func @f(%c: i1) {
  %x = scf.if %c -> (i32) {
    scf.yield %x : i32
//            ^ V006
  } else {
    %y = arith.constant 1 : i32
    scf.yield %y : i32
  }
  return
}

// -----

// names of block arguments are values
func.func @f() {
  cf.br ^a
^a(x: i32):
// ^ P001
  return
}

// -----

// in a graph region every value is defined all the same
"test.graph"() ({
  %0 = "test.a"(%1) : (i32) -> i32
//              ^ P006
}) : () -> ()

// -----

// a value of a nested graph region does not escape
"test.graph"() ({
  "test.inner"() ({
    %0 = "test.a"() : () -> i32
  }) : () -> ()
  "test.use"(%0) : (i32) -> ()
//           ^ P006
}) : () -> ()
