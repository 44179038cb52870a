// ----- R130 P
#bound = (d0)[s0] -> (d0 + s0, s0 * 2)
mlfunc @f(%n: index) {
  for %i = 0 to 10 step 2 {
    for %j = -3 to %n {
      for %k = max #bound(%i)[%n] to min #bound(%j)[%n] {
        "t.t"(%k) : (index) -> ()
      }
    }
  }
  return
}
//> affine.for %i = 0 to 10 step 2 {
//> affine.for %j = -3 to %n {
//> = max affine_map<(d0)[s0] -> (d0 + s0, s0 * 2)>(%i)[%n] to min
// ----- R130 V OperandMismatch
func.func @f() {
  affine.for %i = 0 to 10 step §0 {
  }
  return
}
// ----- R130 V OperandMismatch
func.func @f() {
  affine.for %i = 0 to 10 step §-1 {
  }
  return
}
// ----- R130 V ValueTypeMismatch
func.func @f(%n: i32) {
  affine.for %i = 0 to §%n {
  }
  return
}
// ----- R130 V OperandMismatch
func.func @f(%n: index) {
  affine.for %i = §affine_map<(d0) -> (d0, 0)>(%n) to 10 {
  }
  return
}
// ----- R130 XA
func.func @f(%n: index, %A: memref<10xi32>) {
  %one = arith.constant 1 : i32
  affine.for %i = 0 to 10 step 3 {
    affine.for %j = max affine_map<(d0)[s0] -> (d0, s0)>(%i)[%n] to min affine_map<(d0) -> (d0 + 2, 10)>(%i) {
      affine.store %one, %A[%j] : memref<10xi32>
    }
  }
  return
}
//= after(f, 4, zeros(10, dtype="i4")) == [0, 0, 0, 0, 1, 0, 1, 1, 0, 1]
//= loops("f") == "i parallel, j parallel"
// ----- R131 P
#first = (d0) : (d0 - 4 >= 0)
mlfunc @f(%n: index) {
  for %i = 0 to %n {
    if #first(%i) {
      "t.one"() : () -> ()
    } else if (d0)[s0] : (d0 - s0 == 0) (%i)[%n] {
      "t.two"() : () -> ()
    } else {
      "t.three"() : () -> ()
    }
  }
  return
}
//> affine.if affine_set<(d0) : (d0 - 4 >= 0)>(%i) {
//> } else {
//> affine.if affine_set<(d0)[s0] : (d0 - s0 == 0)>(%i)[%n] {
// ----- R131 V WrongMapArity
func.func @f(%n: index) {
  affine.if affine_set<(d0)[s0] : (d0 - s0 == 0)>§(%n) {
  }
  return
}
// ----- R131 XA
func.func @f(%A: memref<10xi32>) {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  affine.for %i = 0 to 10 {
    affine.if affine_set<(d0) : (d0 mod 3 == 0, d0 - 1 >= 0)>(%i) {
      affine.store %one, %A[%i] : memref<10xi32>
    } else {
      affine.if affine_set<(d0) : (d0 - 7 >= 0)>(%i) {
        affine.store %two, %A[%i] : memref<10xi32>
      }
    }
  }
  return
}
//= after(f, zeros(10, dtype="i4")) == [0, 0, 0, 1, 0, 0, 1, 2, 2, 1]
//= loops("f") == "i parallel"
// ----- R132 P
#two = (d0)[s0] -> (d0 + s0, d0 - s0)
func @f(%i: index, %n: index) {
  %0 = affine_apply #two(%i)[%n]
  "t.use"(%0#1, %0#0) : (index, index) -> ()
  return
}
//> affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%n]
//> affine.apply affine_map<(d0)[s0] -> (d0 - s0)>(%i)[%n]
// ----- R132 V WrongMapArity
func.func @f(%i: index) {
  %0 = affine.apply affine_map<(d0, d1) -> (d0 + d1)>§(%i)
  return
}
// ----- R132 XA
func @f(%A: memref<10xf32>) {
  for %i = 0 to 5 {
    %0 = affine_apply (d0) -> (d0 * 2, d0 * 2 + 1) (%i)
    %1 = load %A[%0#0] : memref<10xf32>
    store %1 to %A[%0#1] : memref<10xf32>
  }
  return
}
//= after(f, numbers(10))[1::2] == numbers(10)[0::2]
//= loops("f") == "i parallel"
// ----- R133 V NotADimension
func.func @f(%A: memref<8xf32>, %i: i32) {
  %0 = arith.index_cast %i : i32 to index
  affine.for %j = 0 to 4 {
    %1 = arith.muli %j, %j : index
    %2 = affine.apply affine_map<(d0) -> (d0)>(%1)
    %3 = §affine.load %A[%2] : memref<8xf32>
  }
  return
}
// ----- R133 V NotADimension
func.func @f(%A: memref<8xf32>) {
  affine.for %i = 0 to 4 {
    %0 = §affine.apply affine_map<()[s0] -> (s0)>()[%i]
  }
  return
}
// ----- R133 A
func.func @f(%A: memref<?x8xf32>, %n: index) {
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0 : index
  %m = memref.dim %A, %c0 : memref<?x8xf32>
  affine.for %i = 0 to %m {
    %0 = affine.apply affine_map<(d0)[s0] -> (d0 + s0 - 4)>(%i)[%c4]
    %1 = affine.load %A[%0, symbol(%c4)] : memref<?x8xf32>
    affine.store %1, %A[%i, 0] : memref<?x8xf32>
  }
  return
}
//= loops("f") == "i parallel"
// ----- R134 P
mlfunc @sum(%A: memref<?xi32>, %n: index, %sum: memref<i32>) {
  for %i = 0 to %n {
    %0 = load %A[%i] : memref<?xi32>
    %1 = load %sum[] : memref<i32>
    %2 = "addi"(%0, %1) : (i32, i32) -> i32
    store %2 to %sum[] : memref<i32>
  }
  return
}
//> memref.store %2, %sum[] : memref<i32>
// ----- R134 V UnexpectedToken
mlfunc @sum(%A: memref<?xi32>, %n: index, %init: i32) {
  for %i = 0 to %n §with %t(%init) {
  }
  return
}
// ----- R134 V UnexpectedToken
mlfunc §int32 @sum(%A: memref<?xi32>, %n: index) {
  return
}
// ----- R134 XA
func.func @rows(%A: memref<3x4xf32>, %B: memref<3xf32>) {
  %sum = memref.alloc() : memref<f32>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 3 {
    affine.store %zero, %sum[] : memref<f32>
    affine.for %j = 0 to 4 {
      %0 = affine.load %A[%i, %j] : memref<3x4xf32>
      %1 = affine.load %sum[] : memref<f32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %sum[] : memref<f32>
    }
    %3 = affine.load %sum[] : memref<f32>
    affine.store %3, %B[%i] : memref<3xf32>
  }
  memref.dealloc %sum : memref<f32>
  return
}
//= after(rows, numbers(3, 4), zeros(3)) == numbers(3, 4).sum(1)
//= "j reduction" in loops("rows")
// ----- R134 A
func.func @rows(%A: memref<3x4xf32>, %B: memref<3xf32>) {
  %sum = memref.alloc() : memref<f32>
  affine.for %i = 0 to 3 {
    %0 = affine.load %A[%i, 0] : memref<3x4xf32>
    affine.store %0, %sum[] : memref<f32>
    %1 = affine.load %sum[] : memref<f32>
    affine.store %1, %B[%i] : memref<3xf32>
  }
  return
}
//= loops("rows") == "i parallel after privatisation"
//= "i: parallel after privatisation of sum" in report("rows")
// ----- R134 XA
func.func @last(%A: memref<5xf32>, %B: memref<5xf32>, %sum: memref<f32>) {
  affine.for %i = 0 to 5 {
    %0 = affine.load %sum[] : memref<f32>
    %1 = affine.load %A[%i] : memref<5xf32>
    affine.store %1, %sum[] : memref<f32>
    affine.store %0, %B[%i] : memref<5xf32>
  }
  return
}
func.func @kept(%A: memref<5xf32>, %B: memref<5xf32>, %sum: memref<f32>) {
  affine.for %i = 0 to 5 {
    %1 = affine.load %A[%i] : memref<5xf32>
    affine.store %1, %sum[] : memref<f32>
    %0 = affine.load %sum[] : memref<f32>
    affine.store %0, %B[%i] : memref<5xf32>
  }
  return
}
//= after(last, numbers(5), zeros(5), zeros()) == numbers(5)[4]
//= after(kept, numbers(5), zeros(5), zeros()) == numbers(5)[4]
//= loops("last") == "i sequential"
//= "i: parallel after privatisation of sum (last value kept)" in report("kept")
// ----- R135 XA
func.func @g(%A: memref<?xf32>, %i: index, %j: index) {
  %0 = affine.load %A[%i] : memref<?xf32>
  affine.store %0, %A[%j] : memref<?xf32>
  return
}
func.func @f(%A: memref<?xf32>) {
  affine.for %i = 0 to 4 {
    %0 = affine.apply affine_map<(d0) -> (d0 + 4)>(%i)
    func.call @g(%A, %i, %0) : (memref<?xf32>, index, index) -> ()
  }
  return
}
//= after(f, numbers(8))[4:] == numbers(8)[:4]
//= loops("f") == "i parallel"
// ----- R136 P
func.func private @count(memref<128xf32>, index) -> f32
  attributes {gcg.reads = [affine_map<(d0) -> (d0 + 1)>]}
// ----- R136 V OldSyntax
cfgfunc @count(memref<128xf32, (d0) -> (d0)>, index) -> f32
§reads: {%0 ##rel (%1)} writes: {} {
bb0 (%A: memref<128xf32, (d0) -> (d0)>, %pos: index):
  return
}
// ----- R137 P
extfunc @cblas_reduce_ffi(memref<1024 x ? x f32, #map, hbm>) -> f32
extfunc @dma_hbm_to_vmem(memref<1024 x f32, hbm>, index, memref<1024 x f32, vmem>)
#map = (d0, d1) -> (d1, d0)
//> func.func private @dma_hbm_to_vmem(memref<1024xf32, "hbm">, index, memref<1024xf32, "vmem">)
// ----- R137 V UnexpectedToken
extfunc @cblas_reduce_ffi(memref<1024 x ? x f32, hbm>) -> f32 §[reads: {%0, ##range_read()} writes: /* only to SSA */]
// ----- R136 A
func.func @count(%A: memref<9xf32>, %i: index) attributes {gcg.reads = [affine_map<(d0) -> (d0)>]} {
  "t.unknown"(%A, %i) : (memref<9xf32>, index) -> ()
  return
}
func.func @f(%A: memref<9xf32>) {
  affine.for %i = 0 to 8 {
    func.call @count(%A, %i) : (memref<9xf32>, index) -> ()
  }
  return
}
//= loops("f") == "i parallel"
// ----- R136 A
func.func private @fill(memref<?x9xf32>, index, index) attributes {
  gcg.reads = [unit], gcg.may_writes = [affine_set<(i, n, r, c)[h, w] : (r - i == 0, n - c - 1 >= 0)>]
}
func.func @f(%A: memref<?x9xf32>, %B: memref<9x9xf32>, %n: index) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      %0 = memref.cast %B : memref<9x9xf32> to memref<?x9xf32>
      func.call @fill(%0, %i, %n) : (memref<?x9xf32>, index, index) -> ()
    }
  }
  return
}
//= loops("f") == "i sequential, j sequential"
// ----- R136 A
func.func private @fill(memref<?x9xf32>, index, index)
  attributes {gcg.may_writes = [[affine_map<(i, n, any) -> (i, any)>, affine_map<(i, n) -> (i + 8, 0)>]]}
func.func @f(%A: memref<?x9xf32>, %n: index) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      func.call @fill(%A, %i, %n) : (memref<?x9xf32>, index, index) -> ()
    }
  }
  return
}
//= loops("f") == "i parallel, j sequential"
// ----- R136 V WrongAttribute
§func.func private @f(memref<9xf32>, index) attributes {gcg.reads = []}
// ----- R136 V WrongAttribute
§func.func private @f(memref<9xf32>, index) attributes {gcg.reads = [affine_map<(d0) -> (d0, d0)>]}
// ----- R136 V WrongAttribute
§func.func private @f(memref<9xf32>, index) attributes {gcg.may_writes = [affine_set<(d0) : (d0 == 0)>]}
// ----- R136 V WrongAttribute
§func.func private @f(memref<*xf32>) attributes {gcg.writes = [affine_map<() -> (0)>]}
// ----- R136 V WrongAttribute
§func.func private @f(memref<9xf32>) attributes {gcg.writes = ["all"]}
// ----- R137 A
func.func private @g(memref<9xf32>, index)
func.func @f(%A: memref<9xf32>) {
  affine.for %i = 0 to 8 {
    func.call @g(%A, %i) : (memref<9xf32>, index) -> ()
  }
  return
}
//= loops("f") == "i sequential"
// ----- R138 P
#intset_ijk = (i, j, k) [M, N, K] : (i >= 0, -i + N - 1 >= 0, j >= 0, -j + M - 1 >= 0, k >= 0)
mlfunc @f(%M: index) {
  for %i = 0 to %M {
    if #intset_ijk(%i, %i, %i)[%M, %M, %M] {
      "t.body"(%i) : (index) -> ()
    }
  }
  return
}
// ----- R138 A
#low = affine_map<(d) -> (d * 128)>
#high = affine_map<(d)[s] -> (d * 128 + 128, s)>
func.func @matmul(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %M = memref.dim %A, %c0 : memref<?x?xf32>
  %K = memref.dim %A, %c1 : memref<?x?xf32>
  %N = memref.dim %B, %c1 : memref<?x?xf32>
  affine.for %t1 = 0 to affine_map<()[s] -> (s ceildiv 128)>()[%M] {
    affine.for %t2 = 0 to affine_map<()[s] -> (s ceildiv 128)>()[%N] {
      affine.for %t3 = 0 to affine_map<()[s] -> (s ceildiv 128)>()[%K] {
        %a = memref.alloc() : memref<128x128xf32>
        affine.for %i = #low(%t1) to min #high(%t1)[%M] {
          affine.for %k = #low(%t3) to min #high(%t3)[%K] {
            %v = affine.load %A[%i, %k] : memref<?x?xf32>
            affine.store %v, %a[%i mod 128, %k mod 128] : memref<128x128xf32>
          }
        }
        affine.for %t4 = #low(%t1) to min #high(%t1)[%M] {
          affine.for %t5 = #low(%t2) to min #high(%t2)[%N] {
            affine.for %t6 = #low(%t3) to min #high(%t3)[%K] {
              %x = affine.load %a[%t4 mod 128, %t6 mod 128] : memref<128x128xf32>
              %y = affine.load %B[%t6, %t5] : memref<?x?xf32>
              %z = affine.load %C[%t4, %t5] : memref<?x?xf32>
              %p = arith.mulf %x, %y : f32
              %q = arith.addf %z, %p : f32
              affine.store %q, %C[%t4, %t5] : memref<?x?xf32>
            }
          }
        }
        memref.dealloc %a : memref<128x128xf32>
      }
    }
  }
  return
}
//= tree("matmul")[2] == "  band: t1, t2, t3, permutable, coincident [1, 1, 0]"
//= [line.strip() for line in tree("matmul")[3:6]] == ["sequence", "filter: S0", "band: i, k, permutable, coincident [1, 1]"]
//= [line.strip() for line in tree("matmul")[7:9]] == ["filter: S1", "band: t4, t5, t6, permutable, coincident [1, 1, 0]"]
// ----- R138 A
func.func @diagonal(%A: memref<9x9xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 1 to 9 {
      %v = affine.load %A[%i + 1, %j - 1] : memref<9x9xf32>
      affine.store %v, %A[%i, %j] : memref<9x9xf32>
    }
  }
  return
}
//= [line.strip() for line in tree("diagonal")[1:3]] == ["band: i, coincident [0]", "band: j, coincident [1]"]
