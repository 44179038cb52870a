!alias = memref<4x?xf32, strided<[?, 1], offset: ?>>
#loc0 = loc("file.mlir":1:2)
#attr = {a = 1 : i32}
func.func @types(%a: !alias, %b: tuple<i32, tuple<>, f32>, %c: complex<f32>, %d: none, %e: (i32) -> i32, %f: (i32) -> (() -> ()),
                 %g: ui8, %h: si4096, %i: !llvm.ptr<f32>, %j: !llvm<"i32*">, %k: tensor<*xf32>, %l: tensor<f32>,
                 %m: tensor<4x?xf32, #sparse.enc<{a = [1, 2]}>>, %n: vector<2x3xindex>, %o: f8E4M3FN, %p: tensor<0x0xi1>, %q: tf32,
                 %r: memref<4 x 4 x f32>, %s: !dialect.type<foo<bar, [1, (2)]>, "x>y">) attributes {x = #attr} {
  return
}
func.func @locations(%a: i32 loc("arg")) {
  %0 = arith.addi %a, %a : i32 loc("f.mlir":10:4)
  %1 = arith.addi %0, %a : i32 loc(callsite("g" at "f.mlir":1:2))
  %2 = arith.addi %1, %a : i32 loc(fused<"meta">["a", "b"("f":1:1)])
  %3 = arith.addi %2, %a : i32 loc(unknown)
  %4 = arith.addi %3, %a : i32 loc(#loc0)
  %5 = arith.addi %4, %a : i32 loc("f.mlir":1:2 to 3:4)
  return loc("f.mlir":11)
}
func.func @attributes() attributes {
  a = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2, d0 mod 3, -d1, d0 * -4 + 3)>,
  b = affine_set<(d0) : (d0 - 1 >= 0, d0 == 0)>, c = array<i32: 1, -2>, d = array<i1: true, false>, e = array<f32: 1.0, 2.5>, f = array<i64>,
  g = dense<[[1.0, 2.0]]> : tensor<1x2xf32>, h = dense<"text"> : tensor<2x!unknown.string>, i = strided<[4, 1], offset: ?>,
  j = @symbol, k = @a::@"b c"::@d, l = i32, m = "str\"ing\n", n = 3 : i8, o = -1, p = 1.5, q = true, r = unit, s = #dialect.attr<x, [y]>,
  t = [1, [2.0 : f32, "a"]], u = {x, y = 1}, v = 0x7FC00000 : f32, w = memref<4xf32>, "quoted key" = 1, x = (i32) -> f32, y = 5 : index,
  z = sparse<[[0, 0]], [1.0]> : tensor<3x4xf32>, zz = dense_resource<key> : tensor<3xi64>, zzz = distinct[0]<1>, zzzz = opaque<"ns", "0xAB">} {
  return
}
func.func @generic(%arg0: i32) -> i32 {
  %0 = "arith.constant"() <{value = 3 : i32}> : () -> i32
  %1 = "arith.addi"(%arg0, %0) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
  %2 = "arith.cmpi"(%1, %0) <{predicate = 2 : i64}> : (i32, i32) -> i1
  "scf.if"(%2) ({
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  "cf.cond_br"(%2, %1, %0)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (i1, i32, i32) -> ()
^bb1(%3: i32):
  "cf.br"(%3)[^bb2] : (i32) -> ()
^bb2(%4: i32):
  "func.return"(%4) : (i32) -> ()
}
func.func @casts(%a: i32) {
  %0 = builtin.unrealized_conversion_cast %a : i32 to !llvm.i32
  %1:2 = builtin.unrealized_conversion_cast %0 : !llvm.i32 to i32, i64
  %2 = builtin.unrealized_conversion_cast to f32
  return
}
