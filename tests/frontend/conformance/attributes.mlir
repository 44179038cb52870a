// ----- R50 P
"t.t"() {a = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2, d0 mod 3 - d1 ceildiv s0)>,
         b = (i, j) -> (j, i), c = affine_map<() -> ()>} : () -> ()
//> affine_map<(d0, d1) -> (d1, d0)>
// ----- R50 V Unclosed
"t.t"() {a = affine_map<(d0, d1) -> (d0 §/ d1)>} : () -> ()
// ----- R50 V InvalidAffine
"t.t"() {a = affine_map<(d0, §d0) -> (d0)>} : () -> ()
// ----- R50 A
func.func @f(%A: memref<99xf32>) {
  affine.for %i = 0 to 20 {
    %0 = affine.load %A[%i * 3] : memref<99xf32>
    affine.store %0, %A[%i floordiv 2 * 3 + %i mod 2 + 1] : memref<99xf32>
  }
  return
}
//= loops("f") == "i parallel"
// ----- R51 P
"t.t"() {a = affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 mod 2 == 0)>,
         b = (i)[n] : (i >= 0, n - i - 1 >= 0), c = affine_set<(d0) : (d0 <= 4)>} : () -> ()
//> affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 mod 2 == 0)>
//> affine_set<(d0)[s0] : (d0 >= 0, s0 - d0 - 1 >= 0)>
// ----- R51 V UnexpectedToken
"t.t"() {a = affine_set<(d0) : (d0§)>} : () -> ()
// ----- R51 A
func.func @f(%A: memref<9xf32>, %n: index) {
  affine.for %i = 0 to 8 {
    affine.if affine_set<(d0)[s0] : (d0 - s0 == 0)>(%i)[%n] {
      %0 = affine.load %A[%i] : memref<9xf32>
      affine.store %0, %A[%i + 1] : memref<9xf32>
    }
  }
  return
}
//= loops("f") == "i parallel"
// ----- R52 P
"t.t"() {a = [], b = [1, [2.0, "x"], i32, @s, {k}]} : () -> ()
// ----- R52 V Unclosed
"t.t"() {a = [1 §2]} : () -> ()
// ----- R53 P
"t.t"() {a = array<i8>, b = array<i32: 1, -2>, c = array<i1: true, false>, d = array<f64: 1.5>}
  : () -> ()
// ----- R53 V InvalidAttribute
"t.t"() {a = array<§i7: 1>} : () -> ()
// ----- R53 V LiteralOutOfRange
"t.t"() {a = array<i8: §300>} : () -> ()
// ----- R53 P
func.func @f(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = tensor.empty() : tensor<3x2xf32>
  %1 = linalg.transpose ins(%a : tensor<2x3xf32>) outs(%0 : tensor<3x2xf32>) permutation = [1, 0]
  return %1 : tensor<3x2xf32>
}
//> permutation = [1, 0]
// ----- R53 X
func.func @f(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = tensor.empty() : tensor<3x2xf32>
  %1 = linalg.transpose ins(%a : tensor<2x3xf32>) outs(%0 : tensor<3x2xf32>) permutation = [1, 0]
  return %1 : tensor<3x2xf32>
}
//= f(numbers(2, 3)) == numbers(2, 3).T
// ----- R54 P
"t.t"() {a = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, b = dense<true> : vector<4xi1>,
         c = dense<1.5> : tensor<f32>, d = dense<(1, 2)> : tensor<complex<i32>>,
         e = dense<"0x0100000002000000"> : tensor<2xi32>, f = dense<> : tensor<0xf32>} : () -> ()
//> e = dense<[1, 2]> : tensor<2xi32>
// ----- R54 V ShapeMismatch
"t.t"() {a = dense<§[1, 2, 3]> : tensor<2xi32>} : () -> ()
// ----- R54 V InvalidAttribute
"t.t"() {a = dense<§[[1], [2, 3]]> : tensor<2x2xi32>} : () -> ()
// ----- R54 V LiteralTypeMismatch
"t.t"() {a = dense<§1.5> : tensor<2xi32>} : () -> ()
// ----- R54 V InvalidAttribute
"t.t"() {a = dense<§1> : tensor<?xi32>} : () -> ()
// ----- R54 X
func.func @f() -> tensor<2x2xi32> {
  %0 = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}
//= f() == [[1, 2], [3, 4]]
// ----- R54 X
func.func @f(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = arith.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %1 = linalg.add ins(%a, %0 : tensor<3xf32>, tensor<3xf32>) outs(%a : tensor<3xf32>)
    -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
//= f(np.ones(3, "f4")) == [2, 3, 5]
// ----- R54 X
memref.global "private" constant @table : memref<3xf32> = dense<[1.0, 2.0, 4.0]>
func.func @f(%A: memref<3xf32>) {
  %0 = memref.get_global @table : memref<3xf32>
  affine.for %i = 0 to 3 {
    %1 = affine.load %0[%i] : memref<3xf32>
    affine.store %1, %A[%i] : memref<3xf32>
  }
  return
}
//= after(f, zeros(3)) == [1, 2, 4]
// ----- R55 P
"t.t"() {a = dense_resource<blob> : tensor<2xi32>} : () -> ()
{-#
  dialect_resources: {builtin: {blob: "0x040000000100000002000000"}}
#-}
//> a = dense_resource<blob> : tensor<2xi32>
// ----- R55 V UnexpectedToken
"t.t"() {a = dense_resource<blob>§} : () -> ()
// ----- R55 V InvalidAttribute
"t.t"() {a = §dense_resource<blob> : tensor<3xi32>} : () -> ()
{-#
  dialect_resources: {builtin: {blob: "0x040000000100000002000000"}}
#-}
// ----- R55 X
func.func @f(%a: tensor<3xi32>) -> tensor<3xi32> {
  %0 = arith.constant dense_resource<blob> : tensor<3xi32>
  %1 = linalg.add ins(%a, %0 : tensor<3xi32>, tensor<3xi32>) outs(%a : tensor<3xi32>)
    -> tensor<3xi32>
  return %1 : tensor<3xi32>
}
{-#
  dialect_resources: {builtin: {blob: "0x04000000010000000200000003000000"}}
#-}
//= f(zeros(3, dtype="i4")) == [1, 2, 3]
// ----- R56 P
"t.t"() {a = dense<["one", "two"]> : tensor<2x!t.string>, b = dense<"all"> : tensor<2x!t.string>}
  : () -> ()
// ----- R56 V LiteralTypeMismatch
"t.t"() {a = dense<[§"one", "two"]> : tensor<2xi32>} : () -> ()
// ----- R57 P
"t.t"() {a = sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>, b = sparse<[], []> : tensor<2xf32>,
         c = sparse<0, 1.5> : tensor<2xf32>} : () -> ()
// ----- R57 V InvalidAttribute
"t.t"() {a = sparse<[[0, 0], [§3, 2]], [1, 5]> : tensor<3x4xi32>} : () -> ()
// ----- R57 V InvalidAttribute
"t.t"() {a = sparse<[[0, 0], [1, 2]], §[1, 5, 6]> : tensor<3x4xi32>} : () -> ()
// ----- R57 V InvalidAttribute
"t.t"() {a = sparse<§[[0, 0, 0]], [1]> : tensor<3x4xi32>} : () -> ()
// ----- R57 X
func.func @f(%a: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %0 = arith.constant sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<2x3xi32>
  %1 = linalg.add ins(%a, %0 : tensor<2x3xi32>, tensor<2x3xi32>) outs(%a : tensor<2x3xi32>)
    -> tensor<2x3xi32>
  return %1 : tensor<2x3xi32>
}
//= f(zeros(2, 3, dtype="i4")) == [[1, 0, 0], [0, 0, 5]]
// ----- R58 P
"t.t"() {a = opaque<"ns", "0xDEADBEEF"> : tensor<2xi32>, b = opaque<"ns", tensor<2xi32>, "0xAB">}
  : () -> ()
//> b = opaque<"ns", "0xAB"> : tensor<2xi32>
// ----- R58 V InvalidAttribute
"t.t"() {a = opaque<"ns", §"DEADBEEF"> : tensor<2xi32>} : () -> ()
// ----- R59 P
"t.t"() {a = splat<tensor<2xi32>, 3>} : () -> ()
//> a = dense<3> : tensor<2xi32>
// ----- R59 V LiteralTypeMismatch
"t.t"() {a = splat<tensor<2xi32>, §3.5>} : () -> ()
// ----- R59 X
func @f(%a: tensor<2xi32>) -> tensor<2xi32> {
  %0 = constant splat<tensor<2xi32>, 3>
  %1 = linalg.add ins(%a, %0 : tensor<2xi32>, tensor<2xi32>) outs(%a : tensor<2xi32>)
    -> tensor<2xi32>
  return %1 : tensor<2xi32>
}
//= f(zeros(2, dtype="i4")) == [3, 3]
// ----- R60 P
"t.t"() {b = {z = 1, "a key" = 2, m}, a} : () -> ()
//> {a, b = {"a key" = 2, m, z = 1}}
// ----- R60 V DuplicateKey
"t.t"() {a = {k = 1, §k = 2}} : () -> ()
// ----- R60 V UnexpectedToken
"t.t"() {a = {§1 = 2}} : () -> ()
// ----- R61 P
"t.t"() {a = 1.5, b = 0x7FC00000 : f32, c = 0x3FF0000000000000 : f64, d = 1.0e-45 : f32} : () -> ()
//> b = 0x7FC00000 : f32
//> c = 1.000000e+00
// ----- R61 V LiteralOutOfRange
"t.t"() {a = §0x1FFFFFFFF : f32} : () -> ()
// ----- R61 V LiteralTypeMismatch
"t.t"() {a = §1.5 : i32} : () -> ()
// ----- R61 X
func.func @f() -> f32 {
  %0 = arith.constant 0x7F800000 : f32
  return %0 : f32
}
//= f() == np.inf
// ----- R62 P
"t.t"() {a = 1, b = -1 : i8, c = true, d = 255 : ui8, e = 255 : i8, f = 0xFF : i8} : () -> ()
//> d = 255 : ui8
//> e = -1 : i8
// ----- R62 V LiteralOutOfRange
"t.t"() {a = §256 : i8} : () -> ()
// ----- R62 V LiteralOutOfRange
"t.t"() {a = §-1 : ui8} : () -> ()
// ----- R62 V LiteralOutOfRange
"t.t"() {a = §128 : si8} : () -> ()
// ----- R62 X
func.func @f() -> (i1, i8) {
  %0 = arith.constant true
  %1 = arith.constant -3 : i8
  return %0, %1 : i1, i8
}
//= tuple(f()) == (True, -3)
// ----- R63 P
"t.t"() {a = "plain", b = "typed" : !t.string, c = ""} : () -> ()
// ----- R64 P
module {
  func.func private @f()
  module @inner {
    func.func private @g()
  }
  "t.t"() {a = @f, b = [@inner::@g], c = @"quoted name"} : () -> ()
}
// ----- R64 V UnexpectedToken
"t.t"() {a = @f::§g} : () -> ()
// ----- R64 V UnknownSymbol
func.func @f() {
  %0 = memref.get_global §@missing : memref<4xf32>
  return
}
// ----- R64 X
func.func @g(%a: i32) -> i32 {
  return %a : i32
}
func.func @f(%a: i32) -> i32 {
  %0 = call @g(%a) : (i32) -> i32
  return %0 : i32
}
//= f(4) == 4
// ----- R65 P
func @g(i32) -> i32
func @f() {
  "t.t"() {a: @g : (i32) -> i32} : () -> ()
  return
}
//> {a = @g}
// ----- R65 V Unclosed
func @f() {
  "t.t"() {a: @g : i32 §-> } : () -> ()
  return
}
// ----- R65 X
func @g(%a: i32) -> i32 {
  return %a : i32
}
func @f(%a: i32) -> i32 {
  %0 = constant @g : (i32) -> i32
  %1 = call_indirect %0(%a) : (i32) -> i32
  return %1 : i32
}
//= f(3) == 3
// ----- R66 P
"t.t"() {a = i32, b = memref<4x?xf32>, c = (i32) -> (), d = !t.type} : () -> ()
// ----- R67 P
func @f(%a: i1 {unitAttr}, %b: i1 {t.unit = unit}) {
  return
}
//> %a: i1 {unitAttr}, %b: i1 {t.unit}
// ----- R69 P
"t.t"() {a = #t.pretty<nested [(x)], "s">, b = #t<"opaque (">, c = #t.bare} : () -> ()
// ----- R69 P
"t.t"() {a = #t.typed : i32} : () -> ()
// ----- R69 V Unclosed
"t.t"() {a = #t.pretty<(§]>} : () -> ()
// ----- R70 P
#group = distinct[0]<"group">
"t.t"() {a = #group, b = distinct[1]<"group">, c = distinct[2]<>} : () -> ()
//> distinct[0]<"group">
//> distinct[1]<"group">
// ----- R70 A
#one = distinct[0]<"group">
#other = distinct[1]<"group">
func.func @f(%A: memref<9xf32> {gcg.alias_group = #one}, %B: memref<9xf32> {gcg.alias_group = #one},
             %C: memref<9xf32> {gcg.alias_group = #other}) {
  affine.for %i = 0 to 9 {
    %0 = affine.load %A[%i] : memref<9xf32>
    affine.store %0, %B[%i] : memref<9xf32>
  }
  affine.for %j = 0 to 9 {
    %0 = affine.load %A[%j] : memref<9xf32>
    affine.store %0, %C[%j] : memref<9xf32>
  }
  return
}
//= loops("f") == "i sequential, j parallel"
//= (m := numbers(12), f(m[:9], m[3:], zeros(9)), m[9:] == m[:3])[2]
//= fails("OverlappingArguments", f, (m := zeros(30))[:9], m[12:21], m[1:10])
// ----- R70 V WrongAttribute
§func.func @f(%A: memref<9xf32> {gcg.alias_group = "group"}) {
  return
}
// ----- R70 V WrongAttribute
§func.func @f(%n: index {gcg.alias_group = distinct[0]<>}) {
  return
}
// ----- R70 V InvalidAttribute
"t.t"() {a = distinct[0]<"one">, b = distinct[0]<§"two">} : () -> ()
// ----- R71 P
func @f(%a: i32 {fruit}) attributes {fruit: "banana", t.kind: 1} {
  return
}
//> attributes {fruit = "banana", t.kind = 1}
// ----- R75 P
#alias = loc("alias.mlir":1:2)
func.func @f(%a: i32 loc("arg.mlir":3:4)) {
  "t.t"() : () -> () loc("name")
  "t.t"() ({
  ^bb0(%b: i32 loc("block")):
    "t.end"() : () -> ()
  }) : () -> ()
  return loc(#alias)
} loc(unknown)
// ----- R75 V UnexpectedToken
"t.t"() : () -> () loc(§42)
// ----- R75 V UnknownAlias
"t.t"() : () -> () loc(§#missing)
// ----- R76 P
"t.t"() : () -> () loc(callsite("a" at "f.mlir":10:8))
// ----- R76 V UnexpectedToken
"t.t"() : () -> () loc(callsite("a" §"b"))
// ----- R77 P
"t.t"() : () -> () loc("f.mlir":10:8)
"t.t"() : () -> () loc("f.mlir":10)
"t.t"() : () -> () loc("f.mlir":10:8 to :12)
"t.t"() : () -> () loc("f.mlir":10:8 to 12:4)
// ----- R77 V UnexpectedToken
"t.t"() : () -> () loc("f.mlir":§x:8)
// ----- R78 P
"t.t"() : () -> () loc(fused["a", "b"])
"t.t"() : () -> () loc(fused<"why">["a", "f.mlir":1:2])
// ----- R78 V UnexpectedToken
"t.t"() : () -> () loc(fused<"why">§)
// ----- R79 P
"t.t"() : () -> () loc("name")
"t.t"() : () -> () loc("name"("f.mlir":1:2))
// ----- R79 V UnexpectedToken
"t.t"() : () -> () loc("name"(§1))
// ----- R81 P
"t.t"() : () -> () loc(?)
"t.t"() : () -> () loc(unknown)
