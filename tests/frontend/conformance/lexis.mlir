// ----- R1 P
// A comment; 0x10 is an integer, a string has escapes.
"t.t"() {a = "tab \t, quote \", backslash \\, byte \09", b = 0x10 : i32} : () -> ()
//> b = 16 : i32
// ----- R1 V UnterminatedString
"t.t"() {a = §"one
two"} : () -> ()
// ----- R1 V InvalidCharacter
"t.t"() §` : () -> ()
// ----- R2 P
"t.t"() {a = 1.5, b = -2.5e-1, c = 3.e+2 : f32, d = 42} : () -> ()
//> a = 1.500000e+00
//> b = -2.500000e-01
//> c = 3.000000e+02 : f32
//> d = 42
// ----- R2 V LiteralTypeMismatch
"t.t"() {a = §42 : f32} : () -> ()
// ----- R2 X
func @f() -> f32 {
  %0 = constant -2.5e-1 : f32
  return %0 : f32
}
//= f() == -0.25
// ----- R3 P
func.func @f(%0: i32, %a$b: i32, %c_d.e: i32, %-: i32) -> i32 {
  %1 = arith.addi %0, %a$b : i32
  %2 = arith.addi %c_d.e, %- : i32
  %3 = arith.addi %1, %2 : i32
  return %3 : i32
}
// ----- R3 V UndefinedValue
func.func @f(%a: i32) -> i32 {
  return §%b : i32
}
// ----- R3 V RedefinedValue
func.func @f(%a: i32, §%a: i32) {
  return
}
// ----- R4 P
module @"a module" {
  func.func @plain.name$1() {
    call @"any string"() : () -> ()
    "t.t"() {callee = @inner::@"deep er"} : () -> ()
    return
  }
  func.func private @"any string"()
  module @inner {
    func.func private @"deep er"()
  }
}
//> module @"a module" {
//> call @"any string"() : () -> ()
//> @inner::@"deep er"
// ----- R4 V RedefinedSymbol
func.func private @f()
func.func private §@f()
// ----- R4 V UnknownSymbol
func.func @f() {
  call §@g() : () -> ()
  return
}
// ----- R5 P
func @implicit() {
  return
}
// ----- R5 P
module @named attributes {t.unit} {
  builtin.module {
  }
}
//> module @named attributes {t.unit} {
// ----- R5 V WrongRegionCount
§"builtin.module"() : () -> ()
// ----- R6 P
!mine = type vector<4xf32>
!yours = !mine
func.func private @f(!mine) -> !yours
//> (vector<4xf32>) -> vector<4xf32>
// ----- R6 V UnknownAlias
func.func private @f(§!mine)
// ----- R6 V InvalidAttribute
§!mine.own = i32
// ----- R6 V RedefinedAlias
!mine = i32
§!mine = i64
// ----- R7 P
#inner = 4 : i32
#outer = [#inner, {key = #inner}]
"t.t"() {a = #outer} : () -> ()
//> a = [4 : i32, {key = 4 : i32}]
// ----- R7 V UnknownAlias
"t.t"() {a = §#outer} : () -> ()
// ----- R8 P
#map = (d0)[s0] -> (d0 + s0)
#set = (d0)[s0] : (d0 - s0 >= 0, d0 == 0)
func @f(%n: index, %A: memref<8xf32, #map>) {
  affine.for %i = #map(%n)[%n] to 8 {
    affine.if #set(%i)[%n] {
    }
  }
  return
}
//> affine_map<(d0)[s0] -> (d0 + s0)>
//> affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 == 0)>
// ----- R8 P
@@set = (d0)[s0] : (d0 % 2 == 0, s0 - d0 >= 0)
mlfunc @f(%n: index) {
  for %i = 0 to %n {
    if @@set(%i)[%n] {
      "t.t"(%i) : (index) -> ()
    }
  }
  return
}
//> affine_set<(d0)[s0] : (d0 mod 2 == 0, s0 - d0 >= 0)>
// ----- R8 V InvalidAffine
#map = (d0) -> (d0 §* d0)
// ----- R8 A
#even = (d0) : (d0 mod 2 == 0)
func @f(%A: memref<9xf32>) {
  affine.for %i = 0 to 8 {
    affine.if #even(%i) {
      %v = affine.load %A[%i] : memref<9xf32>
      affine.store %v, %A[%i + 1] : memref<9xf32>
    }
  }
  return
}
//= loops("f") == "i parallel"
// ----- R9 V InvalidAffine
#map = (d0) -> (d0 + §e0)
// ----- R9 V UndefinedValue
func.func @f() {
  "t.region"() ({
    %inside = "t.value"() : () -> i32
  }) : () -> ()
  "t.use"(§%inside) : (i32) -> ()
  return
}
// ----- R10 P
func.func @f() -> tensor<3xi32> {
  %0 = arith.constant dense_resource<blob> : tensor<3xi32>
  return %0 : tensor<3xi32>
}
{-#
  dialect_resources: {builtin: {blob: "0x04000000010000000200000003000000"}},
  external_resources: {other: {key: "value"}}
#-}
//> blob: "0x04000000010000000200000003000000"
//> key: "value"
// ----- R10 X
func.func @f() -> tensor<3xi32> {
  %0 = arith.constant dense_resource<blob> : tensor<3xi32>
  return %0 : tensor<3xi32>
}
{-#
  dialect_resources: {builtin: {blob: "0x04000000010000000200000003000000"}}
#-}
//= f() == [1, 2, 3]
// ----- R10 V InvalidAttribute
"t.t"() : () -> ()
{-#
  dialect_resources: {builtin: {blob: §"0x04"}}
