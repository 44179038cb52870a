#late = 1 : i32
#swap = affine_map<(d0,  // first
                    d1)  // second
                 -> (d1, d0)>
#nested = {x = #late, y = [#late, #swap]}
func.func private @numbers() attributes {
  t.a = 1, t.b = -1 : i32, t.c = 0xFF : i8, t.d = 255 : ui8, t.e = -128 : si8, t.f = 5 : index, t.g = true, t.h = 7 : i3, t.i = 0x10,
  t.j = 1.5, t.k = 0.1 : f32, t.l = -0.0, t.m = 1.0e-45 : f32, t.n = 123456789.0, t.o = 0x7F800001 : f32, t.p = 0x7C00 : f16, t.q = 0xFFC0 : bf16,
  t.r = 0.1 : f80, t.s = 0x3FFF1000000000000000000000000000 : f128, t.t = 0.3 : tf32, t.u = 0.3 : f8E4M3FN, t.v = 3.0 : f4E2M1FN, t.w = 2.0 : f8E8M0FNU}
func.func private @plain() attributes {
  t.a = "text \"quoted\"\n\t\\ \00\FF é", t.b = "typed" : !foo.string, t.c = @symbol, t.d = @"a b"::@c::@"d\22", t.e = unit, t.f, t.g = i32, t.h = (i32) -> f32,
  t.i = [], t.j = [1, [i32, "x"], {y}], t.k = {}, t.l = {b = 1, "a key" = 2, c.d}, t.m = #nested, t.n = #foo.bar, t.o = #foo.bar<x, "y>"> : i32, t.p = #foo<"z">,
  t.q = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2, d0 mod s0, -d1)>, t.r = affine_set<(d0) : (d0 >= 1, d0 - 7 == 0)>,
  t.s = strided<[4, ?], offset: ?>, t.t = strided<[]>, t.u = distinct[0]<1>, t.v = distinct[1]<[]>, t.w = distinct[0]<1>, t.x = #place} loc(#place)
func.func private @arrays() attributes {
  t.a = array<i8>, t.b = array<i32: 10, -42>, t.c = array<i1: true, false>, t.d = array<f32: 1.0, 0x7F800000>, t.e = array<f64: 42., 12.>, t.f = array<ui8: 255>}
func.func private @dense() attributes {
  t.a = dense<1> : tensor<4xi32>, t.b = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, t.c = dense<[true, false]> : vector<2xi1>, t.d = dense<> : tensor<0x4xf32>,
  t.e = dense<[0x7F800001, 1.0]> : tensor<2xf32>, t.f = dense<[(1.0, 2.0), (0.5, -1.0)]> : tensor<2xcomplex<f32>>, t.g = dense<(1, 2)> : tensor<complex<i8>>,
  t.h = dense<"0x0100000002000000"> : tensor<2xi32>, t.i = dense<"0x3C38"> : tensor<2xf8E5M2>, t.j = dense<["a", "b"]> : tensor<2x!foo.string>,
  t.k = dense<1.5> : tensor<f64>, t.l = dense<[1, -1, 3]> : tensor<3xi17>, t.m = dense<2> : vector<[4]xindex>, t.n = dense<[0.1, 0.2]> : tensor<2xbf16>,
  t.o = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38,
    39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77,
    78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101]> : tensor<102xi8>}
func.func private @elements() attributes {
  t.a = sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>, t.b = sparse<[[0, 0]], [1.0]> : tensor<3x4xf32>, t.c = sparse<> : tensor<4xf32>,
  t.d = dense_resource<blob> : tensor<3xi64>, t.e = dense_resource<"key 2"> : vector<2xi32>}
func.func private @locations() attributes {
  t.a = loc("a":1:2), t.b = loc("a":1:2 to :5), t.c = loc("a":1:2 to 3:4), t.d = loc(callsite("a" at "b")), t.e = loc(fused<"m">["a", unknown]), t.f = loc("n"("a":1:2))}
func.func @body(%a: i32 loc("argument"), %b: f32 {t.x = #late} loc("f":1:2)) -> (i32 {t.y}) {
  return %a : i32 loc(fused[#place, "a"])
} loc(callsite("body" at "attributes.mlir":10:8))
#place = loc("attributes.mlir":1:1)
{-#
  dialect_resources: {
    builtin: {
      blob: "0x08000000010000000000000002000000000000000300000000000000",
      "key 2": "0x040000000100000002000000"
    }
  },
  external_resources: {
    tool: {
      note: "kept",
      flag: true
    }
  }
#-}
