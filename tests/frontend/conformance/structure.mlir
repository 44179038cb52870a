// ----- R85 P
func.func @f(%a: i32) {
  %0 = "t.one"(%a) <{p = 1 : i32}> ({
    "t.inner"() : () -> ()
  }, {
  }) {d = "x"} : (i32) -> i32
  "t.branch"(%a)[^bb1, ^bb2] {k} : (i32) -> ()
^bb1:
  return
^bb2:
  return
}
//> <{p = 1 : i32}>
// ----- R85 P
func @f(%a: i1) {
  "cond_br"(%a)[^bb1, ^bb2(%a : i1)] : (i1) -> ()
^bb1:
  return
^bb2(%b: i1):
  return
}
//> cf.cond_br %a, ^bb1, ^bb2(%a : i1)
// ----- R85 V TypeCountMismatch
"t.t"() : §(i32) -> ()
// ----- R85 V UnexpectedToken
"t.t"( §: () -> ()
// ----- R86 P
func.func @f() {
  %r:2 = "t.two"() : () -> (i32, f32)
  %a, %b:2 = "t.three"() : () -> (i32, i64, f32)
  "t.use"(%r#1, %r#0, %b#1) : (f32, i32, f32) -> ()
  return
}
// ----- R86 V ResultCountMismatch
func.func @f() {
  §%r:3 = "t.two"() : () -> (i32, f32)
  return
}
// ----- R86 V OperandMismatch
func.func @f() {
  %r:2 = "t.two"() : () -> (i32, f32)
  "t.use"(§%r#2) : (f32) -> ()
  return
}
// ----- R87 P
func @f(%a: i64) {
  %0:2 = llvm.sadd.with.overflow.i64 %a, %a : i64
  "tf.Print"(%a) {message: "m"} : (i64) -> ()
  "foo"() : () -> ()
  return
}
//~ UnregisteredOperationKept
// ----- R87 V
func.func @f(%a: i64) -> i64 {
  %0 = "tf.Print"(%a) {message = "m"} : (i64) -> i64
  return %0 : i64
}
//= fails("UnregisteredOperation", f, 1)
// ----- R87 X
func.func @f(%a: i64) -> i64 {
  %0 = "t.half"(%a) {by = 2} : (i64) -> i64
  return %0 : i64
}
//= program(handlers={"t.half": lambda a, by: a // by}).f(8) == 4
// ----- R87 R94 A
func.func @f(%A: memref<9xf32>, %B: memref<9xf32>) {
  affine.for %i = 0 to 8 {
    "t.unknown"() ({
      "t.inner"(%A) : (memref<9xf32>) -> ()
    }) : () -> ()
    %0 = affine.load %A[%i] : memref<9xf32>
    affine.store %0, %B[%i] : memref<9xf32>
  }
  return
}
//= loops("f") == "i sequential, opaque sequential"
// ----- R88 P
func @f(%a: i64) {
  accelerator.launch() {
    ^bb0:
      "t.t"() : () -> ()
  }
  return
}
//~ UnregisteredOperationKept
// ----- R88 V Unclosed
func @f(%a: i64) {
  accelerator.launch() {
    "t.t"() : () -> ()
  return
}§
// ----- R89 P
func @types_only(i32) -> i32 {
^bb0(%a: i32):
  return %a : i32
}
func @named(%a: i32 {t.in}, %b: f32) -> (i32 {t.out}, f32) attributes {t.kind = "x"} {
  return %a, %b : i32, f32
}
func private @external(i32) -> (i32, f32)
//> func.func @types_only(%a: i32) -> i32 {
//> -> (i32 {t.out}, f32) attributes {t.kind = "x"}
// ----- R89 V TypesDiffer
§func @f(i32) -> i32 {
^bb0(%a: f32):
  return %a : f32
}
// ----- R89 V OperandMismatch
func @f§(%a: i32, f32) {
  return
}
// ----- R89 XA
func @f(%n: index, %A: memref<?xf32>, %x: f32) -> (index, f32) {
  affine.for %i = 0 to %n {
    affine.store %x, %A[%i] : memref<?xf32>
  }
  return %n, %x : index, f32
}
//= tuple(f(3, zeros(3), 2.5)) == (3, 2.5)
//= loops("f") == "i parallel"
// ----- R90 R101 PX
func @f(%a: i64, %cond: i1) -> i64 {
  br_cond %cond, ^bb1, ^bb2
^bb1:
  br ^bb3(%a: i64)
^bb2:
  %b = addi %a, %a : i64
  br ^bb3(%b: i64)
^bb3(%c: i64):
  return %c : i64
}
//> cf.cond_br %cond, ^bb1, ^bb2
//= f(4, True) == 4
//= f(4, False) == 8
// ----- R90 V BranchMismatch
func.func @f(%a: i64) -> i64 {
  cf.br §^bb1
^bb1(%c: i64):
  return %c : i64
}
// ----- R90 V BranchMismatch
func.func @f(%a: i64) -> i64 {
  cf.br ^bb1(§%a : i64)
^bb1(%c: i32):
  return %a : i64
}
// ----- R90 V MissingTerminator
func.func @f(%a: i64) {
  cf.br ^bb1
^bb1:
  %c = §arith.addi %a, %a : i64
}
// ----- R91 V EntryIsSuccessor
func.func @f() {
^bb0:
  cf.br §^bb0
}
// ----- R92 V UndefinedBlock
func.func @f() {
  "t.region"() ({
    cf.br §^bb1
  }) : () -> ()
^bb1:
  return
}
// ----- R92 V NotDominated
func.func @f(%c: i1) -> i32 {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %0 = "t.value"() : () -> i32
  cf.br ^bb2
^bb2:
  return §%0 : i32
}
// ----- R93 P
func.func @f() {
  return
^bb1:
  %0 = arith.addi %1, %1 : i32
  %1 = arith.addi %0, %0 : i32
  cf.br ^bb1
}
// ----- R93 V UndefinedValue
func.func @f() {
  return
^bb1:
  %0 = arith.addi §%1, %1 : f32
  cf.br ^bb1
}
// ----- R93 X
func.func @f(%a: i32) -> i32 {
  return %a : i32
^bb1:
  cf.br ^bb1
}
//= f(3) == 3
// ----- R94 X
func.func @f(%c: i1) -> i32 {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %one : i32
^bb2:
  return %two : i32
}
//= f(True) == 1
//= f(False) == 2
// ----- R95 P
func.func @f(%a: i32) {
  %0 = "t.closure"() ({
  ^bb0(%b: i32):
    %1 = arith.addi %a, %b : i32
    "t.yield"(%1) : (i32) -> ()
  }) : () -> ((i32) -> i32)
  "t.async"() ({
    "t.end"() : () -> ()
  }) : () -> ()
  return
}
// ----- R96 P
"t.graph_region"() ({
  %1 = "op1"(%1, %3) : (i32, i32) -> i32
  %2 = "t.ssacfg_region"() ({
    %5 = "op2"(%1, %2, %3) : (i32, i32, i32) -> i32
  }) : () -> i32
  %3 = "op2"(%1, %2) : (i32, i32) -> i32
}) : () -> ()
// ----- R96 V NotDominated
func.func @f() {
  %1 = "op1"(§%1, %3) : (i32, i32) -> i32
  %3 = "op2"(%1, %1) : (i32, i32) -> i32
  return
}
// ----- R97 V UndefinedValue
%0 = "t.value"() : () -> i32
func.func @f() -> i32 {
  return §%0 : i32
}
// ----- R97 V UndefinedValue
%0 = "t.value"() : () -> i32
module {
  "t.use"(§%0) : (i32) -> ()
}
// ----- R98 V ReturnMismatch
func.func @f(%a: i32) -> f32 {
  return §%a : i32
}
// ----- R98 V ReturnMismatch
func.func @f(%a: i32) -> i32 {
  §return
}
// ----- R98 R102 X
func.func @f(%a: i32, %b: f32) -> (i32, f32) {
  return %a, %b : i32, f32
}
//= tuple(f(1, 2.5)) == (1, 2.5)
// ----- R99 P
func.func @f(%a: i32) {
  %0 = builtin.unrealized_conversion_cast to f32
  %1 = unrealized_conversion_cast %a : i32 to f32
  %2:2 = builtin.unrealized_conversion_cast %a : i32 to f32, f32
  %3 = builtin.unrealized_conversion_cast %a, %a : i32, i32 to f32
  return
}
//> %1 = builtin.unrealized_conversion_cast %a : i32 to f32
// ----- R99 V UnexpectedToken
func.func @f(%a: i32) {
  %0 = builtin.unrealized_conversion_cast %a : i32 §f32
  return
}
// ----- R99 X
func.func @f(%a: i32) -> i32 {
  %0 = builtin.unrealized_conversion_cast %a : i32 to f32
  %1 = builtin.unrealized_conversion_cast %0 : f32 to i32
  return %1 : i32
}
//= f(3) == 3
