// a block of 2018 has a known label
cfgfunc @f() {
bb0:
  br bb1
//   ^ P017
}

// -----

// a block of 2018 is entered with what it takes
cfgfunc @f(i32) {
bb0(%a: i32):
  br bb1
//   ^ V018
bb1(%b: i32):
  return
}

// -----

// the entry block of 2018 repeats the types of the signature
  cfgfunc @f(i32) {
//^ V001
  bb0(%a: i64):
    return
  }

// -----

// a result of 2018 is of the signature's type
cfgfunc @f(i32) -> i64 {
bb0(%a: i32):
  return %a : i32
//       ^ V010
}

// -----

// a loop of 2018 has a positive step
mlfunc @f() {
  for %i = 0 to 8 step -1 {
//                     ^ P026
  }
  return
}

// -----

// a bound of 2018 is a dimension
mlfunc @f(%m : memref<8xindex>) {
  for %i = 0 to 8 {
    %k = load %m[%i] : memref<8xindex>
    for %j = 0 to %k {
//  ^ V011
    }
  }
  return
}

// -----

// a set of 2018 is defined
mlfunc @f(%n : index) {
  if @@missing(%n) {
//   ^ P009
  }
  return
}

// -----

// a set of 2018 takes as many operands as it has inputs
@@set0 = (i, j) : (i >= 0, j - i >= 0)
mlfunc @f(%n : index) {
  if @@set0(%n) {
//         ^ V012
  }
  return
}

// -----

// an applied map of 2018 takes as many operands as it has inputs
#map0 = (i, j) -> (i + j, j)
mlfunc @f(%n : index) {
  %0 = affine_apply #map0(%n)
//                       ^ V012
  return
}

// -----

// a result of an applied map of 2018 is one of its number
#map0 = (i) -> (i, i + 1)
mlfunc @f(%n : index, %m : memref<8xf32>) {
  %0 = affine_apply #map0(%n)
  %1 = load %m[%0#2] : memref<8xf32>
//             ^ P026
  return
}

// -----

// a value of 2018 is defined
mlfunc @f() {
  "foo"(%x) : (i32) -> ()
//      ^ P006
  return
}

// -----

// a value of a loop of 2018 ends with it
mlfunc @f() {
  for %i = 0 to 8 {
    %x = constant 1 : i32
  }
  "foo"(%x) : (i32) -> ()
//      ^ P006
  return
}

// -----

// a store of 2018 has one index per dimension
mlfunc @f(%m : memref<8x8xf32>, %x : f32, %i : index) {
  store %x, %m[%i] : memref<8x8xf32>
//^ V013
  return
}

// -----

// a callee of 2018 exists
mlfunc @f() {
  call @g() : () -> ()
//     ^ V007
  return
}

// -----

// functions of 2018 have different names
extfunc @f()
extfunc @f()
//      ^ V008

// -----

// the effects of a function were never given a syntax
cfgfunc @count(memref<128xf32>, index) -> f32
  reads: {%0 ##rel (%1)} writes: {} {
//^ P025
bb0(%a: memref<128xf32>, %pos: index):
  return
}
