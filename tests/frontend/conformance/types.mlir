// ----- R11 P
"t.t"() {t = i1, u = si8, v = ui8, w = i1023} : () -> ()
// ----- R11 V InvalidType
"t.t"() {t = §i16777216} : () -> ()
// ----- R11 X
func.func @f(%a: i8, %b: i8) -> i8 {
  %0 = arith.muli %a, %b : i8
  return %0 : i8
}
func.func @g(%a: i64) -> i1 {
  %0 = arith.trunci %a : i64 to i1
  return %0 : i1
}
//= f(100, 3) == 44
//= bool(g(3)) and not g(2)
// ----- R12 PX
func @f(%a: index, %b: index) -> index {
  %0 = muli %a, %b : index
  return %0 : index
}
//= f(7, -3) == -21
// ----- R12 X
func.func @f(%a: index, %b: index) -> index {
  %0 = arith.muli %a, %b : index
  return %0 : index
}
//= f(2 ** 62, 4) == 0
// ----- R12 V ValueTypeMismatch
func.func @f(%a: index, %b: i32) {
  %0 = arith.addi %a, §%b : index
  return
}
// ----- R12 A
func.func @f(%A: memref<?xf32>, %n: index) {
  affine.for %i = 0 to %n {
    %v = affine.load %A[%i] : memref<?xf32>
    affine.store %v, %A[%i + symbol(%n)] : memref<?xf32>
  }
  return
}
//= loops("f") == "i parallel"
// ----- R13-R26 P
"t.t"() {t = [f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E3M4, f8E4M3, f8E4M3B11FNUZ, f8E4M3FN,
              f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU]} : () -> ()
// ----- R13-R26 V UnknownType
"t.t"() {t = §f8E4M4} : () -> ()
// ----- R13-R26 V LiteralOutOfRange
"t.t"() {a = §0x1FF : f8E5M2} : () -> ()
// ----- R13-R26 X
func.func @f(%A: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    %0 = affine.load %A[%i] : memref<4xf32>
    %1 = arith.truncf %0 : f32 to f8E5M2
    %2 = arith.extf %1 : f8E5M2 to f32
    affine.store %2, %A[%i] : memref<4xf32>
  }
  return
}
//= after(f, np.array([1.0, 1.1, 3.3, 1e-9], "f4")) == [1, 1, 3.5, 0]
// ----- R13-R26 X
func.func @f(%A: memref<4xf8E4M3FN>, %B: memref<4xf8E4M3FN>) {
  %c = arith.constant 0.4375 : f8E4M3FN
  affine.for %i = 0 to 4 {
    %0 = affine.load %A[%i] : memref<4xf8E4M3FN>
    %1 = arith.mulf %0, %c : f8E4M3FN
    affine.store %1, %B[%i] : memref<4xf8E4M3FN>
  }
  return
}
func.func @g(%a: tensor<2xf8E5M2FNUZ>) -> tensor<2xf8E5M2FNUZ> {
  %0 = arith.constant dense<[-0.25, 1024.0]> : tensor<2xf8E5M2FNUZ>
  %1 = arith.addf %a, %0 : tensor<2xf8E5M2FNUZ>
  return %1 : tensor<2xf8E5M2FNUZ>
}
//= after(f, np.array([0x00, 0x38, 0x7E, 0x7F], "u1"), zeros(4, dtype="u1")) == [0, 0x2E, 0x74, 0x7F]
//= g(np.array([0x38, 0x80], "u1")) == [0, 0x80]
//= fails("WrongDtype", g, zeros(2))
// ----- R13-R26 X
func.func @f(%A: memref<2xf6E3M2FN>, %B: memref<2xf4E2M1FN>, %C: memref<2xf8E8M0FNU>) {
  affine.for %i = 0 to 2 {
    %0 = affine.load %A[%i] : memref<2xf6E3M2FN>
    %1 = arith.truncf %0 : f6E3M2FN to f4E2M1FN
    affine.store %1, %B[%i] : memref<2xf4E2M1FN>
    %2 = arith.extf %0 : f6E3M2FN to f8E8M0FNU
    affine.store %2, %C[%i] : memref<2xf8E8M0FNU>
  }
  return
}
//= after(f, np.array([0x1F, 0x2A], "u1"), zeros(2, dtype="u1"), zeros(2, dtype="u1")) == [132, 127]
// ----- R27 P
"t.t"() {t = [f16, bf16, tf32, f32, f64, f80, f128], a = 1.5 : f80, b = 1.5 : f128,
         c = 1.5 : tf32, d = 1.5 : bf16} : () -> ()
// ----- R27 V UnknownType
"t.t"() {t = §f24} : () -> ()
// ----- R27 V
func.func @f(%a: f80) -> f80 {
  return %a : f80
}
//= fails("UnsupportedType", f, 1.0)
// ----- R27 X
func.func @half(%a: f16) -> f16 {
  %0 = arith.addf %a, %a : f16
  return %0 : f16
}
func.func @double(%a: f64) -> f64 {
  %0 = arith.addf %a, %a : f64
  return %0 : f64
}
func.func @round(%a: f32) -> f32 {
  %0 = arith.truncf %a : f32 to bf16
  %1 = arith.extf %0 : bf16 to f32
  return %1 : f32
}
//= half(1.5) == 3
//= double(0.1) == 0.2
//= round(1.0 + 2.0 ** -9) == 1
// ----- R28 P
"t.t"() {t = [complex<f32>, complex<i16>], a = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>}
  : () -> ()
// ----- R28 V InvalidType
"t.t"() {t = complex<§tensor<4xf32>>} : () -> ()
// ----- R28 X
func.func @f(%re: f32, %im: f32) -> f32 {
  %0 = complex.create %re, %im : complex<f32>
  %1 = complex.mul %0, %0 : complex<f32>
  %2 = complex.im %1 : complex<f32>
  return %2 : f32
}
//= f(3, 2) == 12
// ----- R28 X
func.func @f(%A: memref<4xcomplex<f64>>, %B: memref<4xcomplex<f64>>) {
  %c = complex.constant [0.0, 1.0] : complex<f64>
  affine.for %i = 0 to 4 {
    %0 = affine.load %A[%i] : memref<4xcomplex<f64>>
    %1 = complex.mul %0, %c : complex<f64>
    affine.store %1, %B[%i] : memref<4xcomplex<f64>>
  }
  return
}
//= after(f, numbers(4, dtype="c16"), zeros(4, dtype="c16")) == 1j * numbers(4)
//= fails("WrongDtype", f, numbers(4), zeros(4))
// ----- R28 X
func.func @f(%a: complex<i32>) -> complex<i32> {
  return %a : complex<i32>
}
//= fails("UnsupportedType", f, 1j)
// ----- R28 A
func.func @f(%A: memref<9xcomplex<f32>>) {
  affine.for %i = 0 to 8 {
    %v = affine.load %A[%i] : memref<9xcomplex<f32>>
    affine.store %v, %A[%i + 1] : memref<9xcomplex<f32>>
  }
  return
}
//= loops("f") == "i sequential"
// ----- R29 P
"t.t"() {t = [tuple<>, tuple<i32, f32, tensor<4xi1>, tuple<index>>]} : () -> ()
// ----- R29 V Unclosed
"t.t"() {t = tuple<i32 §f32>} : () -> ()
// ----- R30 P
func.func @f(%a: none) {
  "t.use"(%a) : (none) -> ()
  return
}
// ----- R31 P
func @callee(%a: i32) -> i32 {
  return %a : i32
}
func @f(%a: i32) -> i32 {
  %0 = constant @callee : (i32) -> i32
  br ^bb1(%0 : (i32) -> i32)
^bb1(%g: (i32) -> i32):
  %1 = call_indirect %g(%a) : (i32) -> i32
  return %1 : i32
}
//> func.constant @callee : (i32) -> i32
//> call_indirect
// ----- R31 X
func @callee(%a: i32) -> i32 {
  return %a : i32
}
func @f(%a: i32) -> i32 {
  %0 = constant @callee : (i32) -> i32
  br ^bb1(%0 : (i32) -> i32)
^bb1(%g: (i32) -> i32):
  %1 = call_indirect %g(%a) : (i32) -> i32
  return %1 : i32
}
//= f(7) == 7
// ----- R31 V CallMismatch
func.func @callee(%a: i32) -> i32 {
  return %a : i32
}
func.func @f() {
  %0 = §func.constant @callee : (i64) -> i32
  return
}
// ----- R31 V UnexpectedToken
func.func private @f() -> () §-> ()
func.func private @g((i32) i32)
// ----- R32 P
"t.t"() {t = [vector<f32>, vector<4xi1>, vector<2 x 3xf32>, vector<[4]xf32>,
              vector<2x[8]x4xindex>]} : () -> ()
//> vector<2x3xf32>
// ----- R32 V InvalidType
"t.t"() {t = vector<§0xf32>} : () -> ()
// ----- R32 V InvalidType
"t.t"() {t = vector<§0x2xf32>} : () -> ()
// ----- R32 V InvalidType
"t.t"() {t = vector<§?xf32>} : () -> ()
// ----- R32 V InvalidType
"t.t"() {t = vector<4x§tensor<4xf32>>} : () -> ()
// ----- R32 V
func.func @f(%A: memref<?xf32>) {
  affine.for %i = 0 to 4 {
    %0 = vector.load %A[%i] : memref<?xf32>, vector<[4]xf32>
    vector.store %0, %A[%i] : memref<?xf32>, vector<[4]xf32>
  }
  return
}
//= fails("UnsupportedType", f, zeros(64))
// ----- R32 X
func.func @f(%A: memref<2x4xf32>, %B: memref<2x4xf32>) {
  affine.for %i = 0 to 2 {
    %0 = affine.vector_load %A[%i, 0] : memref<2x4xf32>, vector<4xf32>
    %1 = arith.addf %0, %0 : vector<4xf32>
    affine.vector_store %1, %B[%i, 0] : memref<2x4xf32>, vector<4xf32>
  }
  return
}
//= after(f, numbers(2, 4), zeros(2, 4)) == 2 * numbers(2, 4)
// ----- R33 P
"t.t"() {t = [tensor<f32>, tensor<?xf32>, tensor<0x? x 13xi8>, tensor<17 x 0xf32>,
              tensor<4xf32, #t.encoding>, tensor<4xf32, "any">, tensor<0xf32>]} : () -> ()
//> tensor<0x?x13xi8>
//> tensor<4xf32, #t.encoding>
// ----- R33 V UnexpectedToken
"t.t"() {t = tensor<§-1xf32>} : () -> ()
// ----- R33 V InvalidType
"t.t"() {t = tensor<4x§memref<4xf32>} : () -> ()
// ----- R33 V UnknownType
"t.t"() {t = tensor<4x§nothing>} : () -> ()
// ----- R33 V
func.func @f(%a: tensor<4xf32, "any">) -> tensor<4xf32, "any"> {
  %0 = linalg.exp ins(%a : tensor<4xf32, "any">) outs(%a : tensor<4xf32, "any">)
    -> tensor<4xf32, "any">
  return %0 : tensor<4xf32, "any">
}
//= fails("UnsupportedType", f, zeros(4))
// ----- R33 X
func.func @f(%a: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = linalg.add ins(%a, %a : tensor<?x3xf32>, tensor<?x3xf32>)
    outs(%a : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
//= f(numbers(2, 3)) == 2 * numbers(2, 3)
//= f(numbers(0, 3)).shape == (0, 3)
// ----- R34 P
func @f(%a: tensor<*xf32>) -> tensor<?xf32> {
  %0 = tensor_cast %a : tensor<*xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}
//> tensor.cast %a : tensor<*xf32> to tensor<?xf32>
// ----- R34 V UnexpectedToken
"t.t"() {t = tensor<§*f32>} : () -> ()
// ----- R34 X
func @g(%a: tensor<*xf32>) -> tensor<?xf32> {
  %0 = tensor_cast %a : tensor<*xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}
func @f(%a: tensor<4xf32>) -> tensor<?xf32> {
  %0 = tensor_cast %a : tensor<4xf32> to tensor<*xf32>
  %1 = call @g(%0) : (tensor<*xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
//= f(numbers(4)) == numbers(4)
// ----- R35 P
"t.t"() {t = [memref<f32>, memref<1xf32>, memref<0xf32>, memref<0x?xf32>, memref<?xf32>,
              memref<4 x ? x vector<4xf32>>, memref<4xmemref<?xf32>>]} : () -> ()
//> memref<4x?xvector<4xf32>>
// ----- R35 V InvalidType
"t.t"() {t = memref<4x§tensor<4xf32>>} : () -> ()
// ----- R35 V Unclosed
"t.t"() {t = memref<4xf32, 1 : i32§, 2 : i32>} : () -> ()
// ----- R35 XA
func.func @f(%A: memref<3x?xf32>, %s: memref<f32>) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c1 : memref<3x?xf32>
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to %n {
      %v = affine.load %A[%i, %j] : memref<3x?xf32>
      %w = affine.load %s[] : memref<f32>
      %x = arith.addf %v, %w : f32
      affine.store %x, %s[] : memref<f32>
    }
  }
  return
}
//= after(f, numbers(3, 5), zeros()) == numbers(3, 5).sum()
//= loops("f") == "i reduction, j reduction"
// ----- R36 P
func.func private @f(memref<*xf32>, memref<*xi8, 3>)
// ----- R36 V UnexpectedToken
"t.t"() {t = memref<§*f32>} : () -> ()
// ----- R36 V InvalidOperandType
func.func @f(%A: memref<*xf32>, %i: index) {
  %0 = memref.load §%A[%i] : memref<*xf32>
  return
}
// ----- R36 X
func.func @sum(%A: memref<*xf32>, %out: memref<f32>) {
  %0 = memref.cast %A : memref<*xf32> to memref<?xf32>
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<*xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %0[%i] : memref<?xf32>
    %s = affine.load %out[] : memref<f32>
    %t = arith.addf %s, %v : f32
    affine.store %t, %out[] : memref<f32>
  }
  return
}
func.func @f(%A: memref<6xf32>, %out: memref<f32>) {
  %0 = memref.cast %A : memref<6xf32> to memref<*xf32>
  call @sum(%0, %out) : (memref<*xf32>, memref<f32>) -> ()
  return
}
//= after(f, numbers(6), zeros()) == numbers(6).sum()
// ----- R37 P
func.func private @f(memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1)>>)
//> @f(memref<4x4xf32>)
// ----- R37 V ValueTypeMismatch
func.func @f(%A: memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>) {
  call @g(§%A) : (memref<4x4xf32>) -> ()
  return
}
func.func private @g(memref<4x4xf32>)
// ----- R38 P
#column_major = (d0, d1) -> (d1, d0)
#tiled = (d0, d1) -> (d0 floordiv 4, d1 floordiv 4, d0 mod 4, d1 mod 4)
#by_symbols = (d0, d1)[s0] -> (d0 floordiv s0, d1, d0 mod s0)
#padded = (d0) -> ((d0 + 2) floordiv 2, (d0 + 2) mod 2)
#offset = (d0)[s0] -> (d0 + s0)
func private @f(memref<4x?xf32, #column_major>, memref<8x8xf32, #tiled>, memref<5xf32, #padded>)
func @g(%m: index, %b: index) {
  %0 = alloc(%m)[%b] : memref<?x4xf32, #by_symbols>
  %1 = alloc()[%b] : memref<4xf32, #offset>
  return
}
//> memref.alloc(%m)[%b] : memref<?x4xf32,
// ----- R38 V LayoutMismatch
#column_major = (d0, d1) -> (d1, d0)
func private @f(memref<4xf32, §#column_major>)
// ----- R38 V WrongOperandCount
#offset = (d0)[s0] -> (d0 + s0)
func @g() {
  %1 = §alloc() : memref<4xf32, #offset>
  return
}
// ----- R38 XA
#column_major = (d0, d1) -> (d1, d0)
func @f(%A: memref<2x3xf32>, %B: memref<2x3xf32>) {
  %t = alloc() : memref<2x3xf32, #column_major>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 3 {
      %0 = affine.load %A[%i, %j] : memref<2x3xf32>
      affine.store %0, %t[%i, %j] : memref<2x3xf32, #column_major>
    }
  }
  affine.for %k = 0 to 2 {
    affine.for %l = 0 to 3 {
      %1 = affine.load %t[%k, %l] : memref<2x3xf32, #column_major>
      affine.store %1, %B[%k, %l] : memref<2x3xf32>
    }
  }
  return
}
//= after(f, numbers(2, 3), zeros(2, 3)) == numbers(2, 3)
//= loops("f") == "i parallel, j parallel, k parallel, l parallel"
// ----- R38 X
#tiled = (d0, d1) -> (d0 floordiv 2, d1 floordiv 2, d0 mod 2, d1 mod 2)
func @f(%A: memref<5x3xf32>, %B: memref<5x3xf32>) {
  %t = alloc() : memref<5x3xf32, #tiled>
  affine.for %i = 0 to 5 {
    affine.for %j = 0 to 3 {
      %0 = affine.load %A[%i, %j] : memref<5x3xf32>
      affine.store %0, %t[%i, %j] : memref<5x3xf32, #tiled>
    }
  }
  affine.for %k = 0 to 5 {
    affine.for %l = 0 to 3 {
      %1 = affine.load %t[%k, %l] : memref<5x3xf32, #tiled>
      affine.store %1, %B[%k, %l] : memref<5x3xf32>
    }
  }
  return
}
//= after(f, numbers(5, 3), zeros(5, 3)) == numbers(5, 3)
// ----- R39 P
#tiled = (d0, d1)[s0, s1] -> (d0 floordiv s0, d1 floordiv s1, d0 mod s0, d1 mod s1)
func @f(%m: index, %n: index, %b: index) {
  %t = alloc(%m, %n)[%b, %b] : memref<?x?xf32, #tiled>
  return
}
// ----- R39 V WrongOperandCount
#tiled = (d0, d1)[s0, s1] -> (d0 floordiv s0, d1 floordiv s1, d0 mod s0, d1 mod s1)
func @f(%m: index, %n: index, %b: index) {
  %t = §alloc(%m, %n)[%b] : memref<?x?xf32, #tiled>
  return
}
// ----- R39 X
#tiled = (d0)[s0] -> (d0 floordiv s0, d0 mod s0)
func @f(%b: index, %A: memref<7xf32>, %B: memref<7xf32>) {
  %t = alloc()[%b] : memref<7xf32, #tiled>
  affine.for %i = 0 to 7 {
    %0 = affine.load %A[%i] : memref<7xf32>
    affine.store %0, %t[%i] : memref<7xf32, #tiled>
  }
  affine.for %k = 0 to 7 {
    %1 = affine.load %t[%k] : memref<7xf32, #tiled>
    affine.store %1, %B[%k] : memref<7xf32>
  }
  return
}
//= after(f, 3, numbers(7), zeros(7)) == numbers(7)
// ----- R39 R40 A
#tiled = (d0)[s0] -> (d0 floordiv s0, d0 mod s0)
func @f(%b: index, %A: memref<8xf32>) {
  %t = alloc()[%b] : memref<8xf32, #tiled>
  affine.for %i = 0 to 7 {
    %0 = affine.load %A[%i] : memref<8xf32>
    affine.store %0, %t[%i] : memref<8xf32, #tiled>
  }
  affine.for %k = 0 to 7 {
    %1 = affine.load %t[%k] : memref<8xf32, #tiled>
    affine.store %1, %t[%k + 1] : memref<8xf32, #tiled>
  }
  return
}
//= loops("f") == "i parallel, k sequential"
// ----- R40 V
func @f() {
  %0 = alloc() : memref<8xf32, (d0) -> (d0 floordiv 2)>
  return
}
//= fails("LayoutNotInjective", f)
// ----- R40 X
func @f(%A: memref<4xf32>) {
  %t = alloc() : memref<4xf32, (d0) -> (-d0 + 3)>
  affine.for %i = 0 to 4 {
    %0 = affine.load %A[%i] : memref<4xf32>
    affine.store %0, %t[%i] : memref<4xf32, (d0) -> (-d0 + 3)>
  }
  affine.for %k = 0 to 4 {
    %1 = affine.load %t[-%k + 3] : memref<4xf32, (d0) -> (-d0 + 3)>
    affine.store %1, %A[%k] : memref<4xf32>
  }
  return
}
//= after(f, numbers(4)) == numbers(4)[::-1]
// ----- R41 R68 P
"t.t"() {t = [memref<4x4xf32, strided<[8, 1]>>, memref<4x4xf32, strided<[?, 1], offset: 0>>,
              memref<?xf32, strided<[?], offset: ?>>], a = strided<[4, 1], offset: 2>}
  : () -> ()
//> memref<4x4xf32, strided<[8, 1]>>
//> memref<4x4xf32, strided<[?, 1]>>
//> strided<[4, 1], offset: 2>
// ----- R41 R68 V LayoutMismatch
"t.t"() {t = memref<4x4xf32, §strided<[8]>>} : () -> ()
// ----- R68 V UnexpectedToken
"t.t"() {t = memref<4x4xf32, strided<[0, §x]>>} : () -> ()
// ----- R41 V
func.func @f(%A: memref<2x2xf32, strided<[4, 1]>>) {
  return
}
//= fails("WrongStride", f, zeros(2, 3)[:, :2])
// ----- R41 R68 XA
func.func @f(%A: memref<2x3xf32, strided<[1, 2], offset: ?>>, %B: memref<2x3xf32>) {
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 3 {
      %0 = affine.load %A[%i, %j] : memref<2x3xf32, strided<[1, 2], offset: ?>>
      affine.store %0, %B[%i, %j] : memref<2x3xf32>
    }
  }
  return
}
//= after(f, numbers(3, 2).T, zeros(2, 3)) == numbers(3, 2).T
//= loops("f") == "i parallel, j parallel"
// ----- R42 P
#first = (d0, d1) -> (d1, d0)
#second = (d0, d1)[s0] -> (d0 + s0, d1)
func private @f(memref<4x8xf32, #first, #second>)
// ----- R42 V InvalidType
#first = (d0, d1) -> (d1, d0)
#second = (d0)[s0] -> (d0 + s0)
func private @f(memref<4x8xf32, #first, #second>§)
// ----- R43 P
"t.t"() {t = [memref<4xf32, 0>, memref<4xf32, 3 : i32>, memref<4xf32, "hbm">,
              memref<4xf32, #gpu.address_space<workgroup>>, memref<4xf32, #t.space>]}
  : () -> ()
// ----- R43 V ValueTypeMismatch
func.func @f(%A: memref<4xf32, 1>) {
  call @g(§%A) : (memref<4xf32, 2>) -> ()
  return
}
func.func private @g(memref<4xf32, 2>)
// ----- R43 XA
func.func @f(%A: memref<4xf32, 1>) {
  affine.for %i = 0 to 3 {
    %0 = affine.load %A[%i] : memref<4xf32, 1>
    affine.store %0, %A[%i + 1] : memref<4xf32, 1>
  }
  return
}
//= after(f, numbers(4)) == numbers(4)[0]
//= loops("f") == "i sequential"
// ----- R44 P
"t.t"() {t = [!tf.string, !llvm<"i32*">, !t.pretty<nested [(a)], "x">, !tf.control,
              !tf.resource, !tf.variant, !tf.complex64, !tf.complex128, !tf.f32ref, !t<"a b">]}
  : () -> ()
// ----- R44 V Unclosed
"t.t"() {t = !t.pretty<[§>} : () -> ()
// ----- R45 P
func.func private @f(opaque<"llvm", "struct<(i32, float)>">)
