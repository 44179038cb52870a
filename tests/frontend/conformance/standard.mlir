// ----- R100 P
func @f(%a: i32) {
  br ^bb1(%a : i32)
^bb1(%b: i32):
  br ^bb1(%b : i32)
}
//> cf.br ^bb1(%a : i32)
// ----- R100 V UndefinedBlock
func @f() {
  br §^bb2
^bb1:
  return
}
// ----- R100 X
func @f(%n: i32) -> i32 {
  %one = constant 1 : i32
  br ^bb1(%n, %one : i32, i32)
^bb1(%i: i32, %product: i32):
  %0 = cmpi "sle", %i, %one : i32
  cond_br %0, ^bb2, ^bb3
^bb3:
  %1 = muli %product, %i : i32
  %2 = subi %i, %one : i32
  br ^bb1(%2, %1 : i32, i32)
^bb2:
  return %product : i32
}
//= f(5) == 120
// ----- R100 R101 A
func @f(%A: memref<9xf32>, %c: i1) {
  affine.for %i = 0 to 8 {
    %0 = load %A[%i] : memref<9xf32>
    store %0, %A[%i] : memref<9xf32>
  }
  cond_br %c, ^bb1, ^bb1
^bb1:
  br ^bb2
^bb2:
  return
}
//= loops("f") == "opaque sequential, i parallel"
// ----- R101 PX
func @f(%a: i32, %b: i32, %c: i1) -> i32 {
  cond_br %c, ^bb1(%a : i32), ^bb1(%b : i32)
^bb1(%x: i32):
  return %x : i32
}
//> cf.cond_br %c, ^bb1(%a : i32), ^bb1(%b : i32)
//= f(1, 2, True) == 1
//= f(1, 2, False) == 2
// ----- R101 V ValueTypeMismatch
func @f(%a: i32) {
  cond_br §%a, ^bb1, ^bb1
^bb1:
  return
}
// ----- R102 P
func @f() {
  return
}
func @g(%a: i32, %b: f32) -> (i32, f32) {
  return %a, %b : i32, f32
}
// ----- R102 V MisplacedTerminator
func @f() {
  §return
  return
}
// ----- R103 P
func @f(%a: tensor<16xf32>) -> tensor<16xf32> {
  %0 = call @my_add(%a, %a) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
func @my_add(tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
//> call @my_add(%a, %a)
// ----- R103 V CallMismatch
func @f(%a: i32) {
  call @g(§%a) : (i32) -> ()
  return
}
func private @g(f32)
// ----- R103 XA
func @g(%A: memref<9xf32>, %i: index) {
  %0 = affine.load %A[%i] : memref<9xf32>
  affine.store %0, %A[%i + 1] : memref<9xf32>
  return
}
func @f(%A: memref<9xf32>) {
  affine.for %i = 0 to 8 {
    call @g(%A, %i) : (memref<9xf32>, index) -> ()
  }
  return
}
//= after(f, numbers(9)) == numbers(9)[0]
//= loops("f") == "i sequential"
// ----- R104 P
func @f(%g: (i32) -> i32, %a: i32) -> i32 {
  %0 = call_indirect %g(%a) : (i32) -> i32
  return %0 : i32
}
//> call_indirect %g(%a) : (i32) -> i32
// ----- R104 V ValueTypeMismatch
func @f(%g: (i32) -> i32, %a: f32) {
  %0 = call_indirect §%g(%a) : (f32) -> i32
  return
}
// ----- R104 X
func @one(%a: i32) -> i32 {
  return %a : i32
}
func @two(%a: i32) -> i32 {
  %0 = addi %a, %a : i32
  return %0 : i32
}
func @f(%a: i32, %c: i1) -> i32 {
  %0 = constant @one : (i32) -> i32
  %1 = constant @two : (i32) -> i32
  %2 = select %c, %0, %1 : (i32) -> i32
  %3 = call_indirect %2(%a) : (i32) -> i32
  return %3 : i32
}
//= f(3, False) == 6
// ----- R104 A
func @f(%A: memref<9xf32>, %g: (memref<9xf32>) -> ()) {
  affine.for %i = 0 to 8 {
    call_indirect %g(%A) : (memref<9xf32>) -> ()
  }
  return
}
//= loops("f") == "i sequential"
// ----- R105 P
func @f(%A: memref<4x?xf32>, %t: tensor<?xf32>, %v: index) {
  %0 = dim %A, 1 : memref<4x?xf32>
  %1 = dim %t, 0 : tensor<?xf32>
  %2 = "std.dim"(%A) {index: 0} : (memref<4x?xf32>) -> index
  %3 = memref.dim %A, %v : memref<4x?xf32>
  return
}
//> memref.dim %A
//> tensor.dim %t
// ----- R105 V OutOfRange
func @f(%A: memref<4x?xf32>) {
  %0 = dim %A, §2 : memref<4x?xf32>
  return
}
// ----- R105 XA
func @f(%A: memref<4x?xf32>) -> (index, index) {
  %0 = dim %A, 0 : memref<4x?xf32>
  %1 = dim %A, 1 : memref<4x?xf32>
  affine.for %i = 0 to %0 {
    affine.for %j = 0 to %1 {
      %2 = affine.load %A[%i, %j] : memref<4x?xf32>
      affine.store %2, %A[%i, %j] : memref<4x?xf32>
    }
  }
  return %0, %1 : index, index
}
//= tuple(f(zeros(4, 3))) == (4, 3)
//= loops("f") == "i parallel, j parallel"
// ----- R106 P
func @f(%n: index, %s: index) {
  %0 = alloc() : memref<8x64xf32, 1>
  %1 = alloc(%n) : memref<8x?xf32>
  %2 = alloc(%n)[%s] : memref<8x?xf32, (d0, d1)[s0] -> (d0 + s0, d1)>
  return
}
//> memref.alloc(%n)[%s]
// ----- R106 V WrongOperandCount
func @f(%n: index) {
  %0 = §alloc(%n) : memref<8xf32>
  return
}
// ----- R106 V WrongOperandCount
func @f() {
  %0 = §alloc() : memref<?xf32>
  return
}
// ----- R106 R108 PXA
func @f(%n: index, %A: memref<?xf32>) {
  %0 = alloc(%n) : memref<?xf32>
  affine.for %i = 0 to %n {
    %1 = affine.load %A[%i] : memref<?xf32>
    %2 = addf %1, %1 : f32
    affine.store %2, %0[%i] : memref<?xf32>
  }
  affine.for %j = 0 to %n {
    %3 = affine.load %0[%j] : memref<?xf32>
    affine.store %3, %A[%j] : memref<?xf32>
  }
  dealloc %0 : memref<?xf32>
  return
}
//= after(f, 5, numbers(5)) == 2 * numbers(5)
//= loops("f") == "i parallel, j parallel"
// ----- R106 A
func @f(%A: memref<4xf32>) {
  %0 = alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    %1 = affine.load %0[%i] : memref<4xf32>
    affine.store %1, %A[%i] : memref<4xf32>
  }
  return
}
//= "undefined: iteration (i=0) reads" in report("f")
// ----- R106 A
func @f(%A: memref<4xf32>, %x: f32) {
  %0 = alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %x, %0[3 - %i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    %1 = affine.load %0[%i] : memref<4xf32>
    affine.store %1, %A[%i] : memref<4xf32>
  }
  return
}
//= "undefined" not in report("f")
// ----- R107 P
func @f() {
  %0 = alloc_static(0x1232a00) : memref<8 x 64 x f32, 1>
  return
}
//> memref<8x64xf32, 1>
// ----- R107 V WrongOperandCount
func @f(%n: index) {
  %0 = §alloc_static(0x1232a00) : memref<8 x ? x f32, 1>
  return
}
// ----- R107 X
func @f(%A: memref<4xf32>) {
  %0 = alloc_static(0x1000) : memref<4xf32>
  %1 = alloc_static(0x1000) : memref<4xf32>
  affine.for %i = 0 to 4 {
    %2 = affine.load %A[%i] : memref<4xf32>
    affine.store %2, %0[%i] : memref<4xf32>
  }
  affine.for %j = 0 to 4 {
    %3 = affine.load %1[%j] : memref<4xf32>
    affine.store %3, %A[%j] : memref<4xf32>
  }
  return
}
//= after(f, numbers(4)) == numbers(4)
// ----- R107 A
func @f(%A: memref<8xf32>) {
  %0 = alloc_static(0x1000) : memref<8xf32>
  %1 = alloc_static(0x1004) : memref<8xf32>
  affine.for %i = 0 to 8 {
    %2 = affine.load %0[%i] : memref<8xf32>
    affine.store %2, %1[%i] : memref<8xf32>
  }
  return
}
//= loops("f") == "i sequential"
// ----- R108 V InvalidOperandType
func @f(%A: f32) {
  dealloc §%A : f32
  return
}
// ----- R108 V
func @f(%A: memref<4xf32>, %x: f32) {
  %0 = alloc() : memref<4xf32>
  dealloc %0 : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %x, %0[%i] : memref<4xf32>
  }
  return
}
//= fails("UseAfterFree", f, zeros(4), 1.0)
// ----- R109 R110 P
func @f(%A: memref<40 x 8 x f32>, %B: memref<16 x 4 x f32, 2>, %n: index, %tag: memref<1 x i32, 4>) {
  %i = constant 0 : index
  dma_start %A[%i, %i], %B[%i, %i], %n, %tag[%i] :
    memref<40 x 8 x f32>, memref<16 x 4 x f32, 2>, memref<1 x i32, 4>
  dma_wait %tag[%i], %n : memref<1 x i32, 4>
  dma_start %A[%i, %i], %B[%i, %i], %n, %tag[%i], %n, %n :
    memref<40 x 8 x f32>, memref<16 x 4 x f32, 2>, memref<1 x i32, 4>
  dma_wait %tag[%i], %n : memref<1 x i32, 4>
  return
}
//> memref.dma_start %A[
//> memref.dma_wait %tag[
// ----- R109 V TypesDiffer
func @f(%A: memref<40xf32>, %B: memref<16xi32, 2>, %n: index, %tag: memref<1 x i32, 4>) {
  %i = constant 0 : index
  §dma_start %A[%i], %B[%i], %n, %tag[%i] :
    memref<40xf32>, memref<16xi32, 2>, memref<1 x i32, 4>
  return
}
// ----- R109 V InvalidOperandType
func @f(%A: memref<40x4xf32>, %B: memref<16xf32, 2>, %n: index, %tag: memref<1 x i32, 4>) {
  %i = constant 0 : index
  §dma_start %A[%i], %B[%i], %n, %tag[%i] :
    memref<40x4xf32>, memref<16xf32, 2>, memref<1 x i32, 4>
  return
}
// ----- R110 V WrongRank
func @f(%n: index, %tag: memref<1 x i32, 4>) {
  §dma_wait %tag[%n, %n], %n : memref<1 x i32, 4>
  return
}
// ----- R111 P
func @f(%v: vector<4x4xi32>, %t: tensor<?xf32>, %u: tensor<*xf32>, %i: index) {
  %0 = extract_element %v[%i, %i] : vector<4x4xi32>
  %1 = extract_element %t[%i] : tensor<?xf32>
  %2 = extract_element %u[%i, %i] : tensor<*xf32>
  return
}
//> tensor.extract %t[%i] : tensor<?xf32>
// ----- R111 V WrongRank
func @f(%t: tensor<?xf32>, %i: index) {
  %0 = §extract_element %t[%i, %i] : tensor<?xf32>
  return
}
// ----- R111 X
func @f(%t: tensor<?xf32>, %i: index) -> f32 {
  %0 = extract_element %t[%i] : tensor<?xf32>
  return %0 : f32
}
//= f(numbers(4), 2) == numbers(4)[2]
// ----- R112 P
func @f(%A: memref<4x8xf32>, %i: index) {
  %0 = load %A[%i, %i] : memref<4x8xf32>
  %1 = load %A[3, %i] : memref<4x8xf32>
  return
}
//> memref.load %A[%i, %i]
// ----- R112 V WrongRank
func @f(%A: memref<4x8xf32>, %i: index) {
  %0 = §load %A[%i] : memref<4x8xf32>
  return
}
// ----- R112 V NotADimension
func.func @f(%A: memref<8xf32>, %B: memref<8xindex>) {
  affine.for %i = 0 to 8 {
    %0 = memref.load %B[%i] : memref<8xindex>
    %1 = §affine.load %A[%0] : memref<8xf32>
  }
  return
}
// ----- R112 XA
func @f(%A: memref<8xf32>, %B: memref<8xindex>, %C: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %0 = load %B[%i] : memref<8xindex>
    %1 = load %A[%0] : memref<8xf32>
    store %1, %C[%i] : memref<8xf32>
  }
  affine.for %j = 0 to 8 {
    %0 = load %B[%j] : memref<8xindex>
    %1 = load %A[%0] : memref<8xf32>
    store %1, %A[%j] : memref<8xf32>
  }
  return
}
//= loops("f") == "i parallel, j sequential"
//= after(f, np.full(8, 3, "f4"), np.arange(8)[::-1].copy(), zeros(8)) == 3
// ----- R113 P
func @f(%A: memref<4x8xf32>, %x: f32, %i: index) {
  store %x, %A[%i, 7] : memref<4x8xf32>
  store %x to %A[%i, %i] : memref<4x8xf32>
  return
}
//> memref.store %x, %A[%i, %i]
// ----- R113 V ValueTypeMismatch
func @f(%A: memref<4x8xf32>, %x: i32, %i: index) {
  store §%x, %A[%i, %i] : memref<4x8xf32>
  return
}
// ----- R113 XA
func @f(%x: f32, %A: memref<4x8xf32>) {
  affine.for %i = 0 to 4 {
    store %x, %A[%i, 7] : memref<4x8xf32>
  }
  return
}
//= after(f, 2.0, zeros(4, 8)).sum() == 8
//= loops("f") == "i parallel"
// ----- R114 R115 P
func @f(%A: memref<4x?xf32>, %t: tensor<4x?xf32>) {
  %0 = tensor_load %A : memref<4x?xf32>
  tensor_store %t to %A : memref<4x?xf32>
  tensor_store %t, %A : memref<4x?xf32>
  return
}
// ----- R114 V InvalidOperandType
func @f(%A: tensor<4xf32>) {
  %0 = tensor_load §%A : tensor<4xf32>
  return
}
// ----- R115 V ValueTypeMismatch
func @f(%A: memref<4xf32>, %t: tensor<5xf32>) {
  tensor_store §%t, %A : memref<4xf32>
  return
}
// ----- R114 XA
func @f(%A: memref<4xf32>, %x: f32) -> tensor<4xf32> {
  %0 = tensor_load %A : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %x, %A[%i] : memref<4xf32>
  }
  return %0 : tensor<4xf32>
}
//= f(numbers(4), 9.0) == numbers(4)
//= loops("f") == "i parallel"
// ----- R115 XA
func @f(%t: tensor<4xf32>, %A: memref<4xf32>) {
  tensor_store %t, %A : memref<4xf32>
  affine.for %i = 0 to 4 {
    %0 = affine.load %A[%i] : memref<4xf32>
    %1 = addf %0, %0 : f32
    affine.store %1, %A[%i] : memref<4xf32>
  }
  return
}
//= after(f, numbers(4), zeros(4)) == 2 * numbers(4)
//= loops("f") == "i parallel"
// ----- R116 P
func @f(%a: i32, %x: f32, %v: vector<4xi32>, %t: tensor<4x?xf32>) {
  %0 = addi %a, %a : i32
  %1 = subi %v, %v : vector<4xi32>
  %2 = muli %a, %a : i32
  %3 = addf %t, %t : tensor<4x?xf32>
  %4 = subf %x, %x : f32
  %5 = mulf %x, %x : f32
  %6 = divf %x, %x : f32
  %7 = and %a, %a : i32
  %8 = or %v, %v : vector<4xi32>
  %9 = xor %a, %a : i32
  %10 = "std.addi"(%a, %a) : (i32, i32) -> i32
  return
}
//> arith.subi %v, %v : vector<4xi32>
//> arith.ori %v, %v : vector<4xi32>
// ----- R116 V InvalidOperandType
func @f(%x: f32) {
  %0 = addi §%x, %x : f32
  return
}
// ----- R116 V ValueTypeMismatch
func @f(%x: f32, %y: f64) {
  %0 = addf %x, §%y : f32
  return
}
// ----- R116 X
func @wrap(%a: i8, %b: i8) -> i8 {
  %0 = addi %a, %b : i8
  return %0 : i8
}
func @logic(%a: i32, %b: i32) -> (i32, i32, i32) {
  %0 = and %a, %b : i32
  %1 = or %a, %b : i32
  %2 = xor %a, %b : i32
  return %0, %1, %2 : i32, i32, i32
}
func @floats(%a: f32, %b: f32) -> (f32, f32, f32, f32) {
  %0 = addf %a, %b : f32
  %1 = subf %a, %b : f32
  %2 = mulf %a, %b : f32
  %3 = divf %a, %b : f32
  return %0, %1, %2, %3 : f32, f32, f32, f32
}
//= wrap(100, 100) == -56
//= tuple(logic(12, 10)) == (8, 14, 6)
//= tuple(floats(3, 2)) == (5, 1, 6, 1.5)
// ----- R116 X
func @f(%t: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = addf %t, %t : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
//= f(numbers(2, 3)) == 2 * numbers(2, 3)
// ----- R116 A
func @f(%A: memref<9xi32>, %s: memref<i32>) {
  affine.for %i = 0 to 9 {
    %0 = load %A[%i] : memref<9xi32>
    %1 = load %s[] : memref<i32>
    %2 = addi %1, %0 : i32
    store %2, %s[] : memref<i32>
  }
  return
}
//= loops("f") == "i reduction"
// ----- R117 P
func @f(%a: i32, %v: vector<4xi64>, %i: index) {
  %0 = cmpi "slt", %a, %a : i32
  %1 = cmpi "eq", %v, %v : vector<4xi64>
  %2 = cmpi ule, %i, %i : index
  %3 = "std.cmpi"(%v, %v) {predicate: 0} : (vector<4xi64>, vector<4xi64>) -> vector<4xi1>
  return
}
//> arith.cmpi slt, %a, %a : i32
//> arith.cmpi eq, %v, %v : vector<4xi64>
// ----- R117 V InvalidOperandType
func @f(%a: f32) {
  %0 = cmpi "slt", §%a, %a : f32
  return
}
// ----- R117 V UnexpectedToken
func @f(%a: i32) {
  %0 = cmpi §"lt", %a, %a : i32
  return
}
// ----- R117 V WrongAttribute
func @f(%a: i32) {
  %0 = §"std.cmpi"(%a, %a) {predicate: 10} : (i32, i32) -> i1
  return
}
// ----- R117 E1 PX
func @f(%a: i8, %b: i8) -> (i1, i1, i1, i1, i1, i1, i1, i1, i1, i1) {
  %0 = "std.cmpi"(%a, %b) {predicate: 0} : (i8, i8) -> i1
  %1 = "std.cmpi"(%a, %b) {predicate: 1} : (i8, i8) -> i1
  %2 = "std.cmpi"(%a, %b) {predicate: 2} : (i8, i8) -> i1
  %3 = "std.cmpi"(%a, %b) {predicate: 3} : (i8, i8) -> i1
  %4 = "std.cmpi"(%a, %b) {predicate: 4} : (i8, i8) -> i1
  %5 = "std.cmpi"(%a, %b) {predicate: 5} : (i8, i8) -> i1
  %6 = "std.cmpi"(%a, %b) {predicate: 6} : (i8, i8) -> i1
  %7 = "std.cmpi"(%a, %b) {predicate: 7} : (i8, i8) -> i1
  %8 = "std.cmpi"(%a, %b) {predicate: 8} : (i8, i8) -> i1
  %9 = "std.cmpi"(%a, %b) {predicate: 9} : (i8, i8) -> i1
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : i1, i1, i1, i1, i1, i1, i1, i1, i1, i1
}
//> arith.cmpi sle, %a, %b : i8
//> arith.cmpi ule, %a, %b : i8
//= tuple(map(int, f(1, 2))) == (0, 1, 1, 1, 0, 0, 1, 1, 0, 0)
//= tuple(map(int, f(1, 1))) == (1, 0, 0, 1, 0, 1, 0, 1, 0, 1)
//= tuple(map(int, f(-1, 1))) == (0, 1, 1, 1, 0, 0, 0, 0, 1, 1)
// ----- R118 P
func @f() {
  %0 = constant 42 : i32
  %1 = constant 1.5 : f32
  %2 = constant @f : () -> ()
  %3 = constant dense<1> : vector<4xi32>
  %4 = constant true
  %5 = constant 3 : index
  %6 = "std.constant"() {value: 42 : i32} : () -> i32
  return
}
//> arith.constant 42 : i32
//> func.constant @f : () -> ()
// ----- R118 V LiteralTypeMismatch
func @f() {
  %0 = constant §42 : f32
  return
}
// ----- R118 V InvalidAttribute
func @f() {
  %0 = constant §"text"
  return
}
// ----- R118 XA
func @f(%A: memref<4xi32>) {
  %0 = constant 42 : i32
  %1 = constant 2 : index
  affine.for %i = 0 to 2 {
    store %0, %A[%1] : memref<4xi32>
  }
  return
}
//= after(f, zeros(4, dtype="i4")) == [0, 0, 42, 0]
//= loops("f") == "i sequential"
// ----- R119 P
func @f(%a: i32) {
  %0 = divis %a, %a : i32
  %1 = diviu %a, %a : i32
  return
}
//> arith.divsi %a, %a : i32
//> arith.divui %a, %a : i32
// ----- R119 R121 V InvalidOperandType
func @f(%a: f32) {
  %0 = divis §%a, %a : f32
  return
}
// ----- R119 R121 X
func @f(%a: i16, %b: i16) -> (i16, i16, i16, i16) {
  %0 = divis %a, %b : i16
  %1 = diviu %a, %b : i16
  %2 = remis %a, %b : i16
  %3 = remiu %a, %b : i16
  return %0, %1, %2, %3 : i16, i16, i16, i16
}
//= tuple(f(6, -2)) == (-3, 0, 0, 6)
//= tuple(f(-7, 2))[0::2] == (-3, -1)
//= f(1, 0) is not None
// ----- R120 P
func @f(%A: memref<4x?xf32>) {
  %0 = memref_cast %A : memref<4x?xf32> to memref<?x?xf32>
  return
}
//> memref.cast %A : memref<4x?xf32> to memref<?x?xf32>
// ----- R120 V InvalidCast
func @f(%A: memref<4x?xf32>) {
  %0 = §memref_cast %A : memref<4x?xf32> to memref<5x?xf32>
  return
}
// ----- R120 V InvalidCast
func @f(%A: memref<4x?xf32>) {
  %0 = §memref_cast %A : memref<4x?xf32> to memref<4x?xi32>
  return
}
// ----- R120 V
func @f(%A: memref<?xf32>, %x: f32) {
  %0 = memref_cast %A : memref<?xf32> to memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %x, %0[%i] : memref<4xf32>
  }
  return
}
//= fails("ShapesDisagree", f, zeros(3), 1.0)
// ----- R120 XA
func @f(%x: f32, %A: memref<4xf32>) {
  %0 = memref_cast %A : memref<4xf32> to memref<?xf32>
  affine.for %i = 0 to 3 {
    %1 = affine.load %A[%i] : memref<4xf32>
    %2 = addf %1, %x : f32
    affine.store %2, %0[%i + 1] : memref<?xf32>
  }
  return
}
//= after(f, 1.0, zeros(4)) == [0, 1, 2, 3]
//= loops("f") == "i sequential"
// ----- R121 P
func @f(%a: i32) {
  %0 = remis %a, %a : i32
  %1 = remiu %a, %a : i32
  return
}
//> arith.remsi %a, %a : i32
//> arith.remui %a, %a : i32
// ----- R122 P
func @f(%c: i1, %a: i32, %v: vector<4xi1>, %w: vector<4xf32>) {
  %0 = select %c, %a, %a : i32
  %1 = select %v, %w, %w : vector<4xi1>, vector<4xf32>
  return
}
//> arith.select %c, %a, %a : i32
// ----- R122 V ValueTypeMismatch
func @f(%c: i32, %a: i32) {
  %0 = select §%c, %a, %a : i32
  return
}
// ----- R122 XA
func @f(%x: f32, %A: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    %0 = affine.load %A[%i] : memref<4xf32>
    %1 = cmpf "olt", %0, %x : f32
    %2 = select %1, %x, %0 : f32
    affine.store %2, %A[%i] : memref<4xf32>
  }
  return
}
//= after(f, 1.0, numbers(4)) == np.maximum(numbers(4), 1)
//= loops("f") == "i parallel"
// ----- R123 P
func @f(%a: tensor<*xf32>, %b: tensor<4x?xf32>) {
  %0 = tensor_cast %a : tensor<*xf32> to tensor<?x?xf32>
  %1 = tensor_cast %b : tensor<4x?xf32> to tensor<*xf32>
  return
}
//> tensor.cast %b : tensor<4x?xf32> to tensor<*xf32>
// ----- R123 V InvalidCast
func @f(%b: tensor<4x?xf32>) {
  %1 = §tensor_cast %b : tensor<4x?xf32> to tensor<5x?xf32>
  return
}
// ----- R123 X
func @f(%b: tensor<?xf32>) -> tensor<4xf32> {
  %1 = tensor_cast %b : tensor<?xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}
//= f(numbers(4)) == numbers(4)
// ----- R124 P
func @f(%a: tensor<*xf32>, %b: memref<4x?xf32>) {
  %0 = rank %a : tensor<*xf32>
  %1 = rank %b : memref<4x?xf32>
  return
}
//> tensor.rank %a : tensor<*xf32>
//> memref.rank %b : memref<4x?xf32>
// ----- R124 X
func @f(%b: memref<4x?xf32>) -> index {
  %1 = rank %b : memref<4x?xf32>
  return %1 : index
}
//= f(zeros(4, 3)) == 2
