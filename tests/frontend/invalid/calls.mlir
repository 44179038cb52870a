// a callee exists
func.func @f() {
  call @g() : () -> ()
//     ^ V007
  return
}

// -----

// a callee of a nested module is not visible by its name alone
module @m {
  func.func private @g()
}
func.func @f() {
  call @g() : () -> ()
//     ^ V007
  return
}

// -----

// a callee has no path
module @m {
  func.func private @g()
}
func.func @f() {
  call @m::@g() : () -> ()
//^ V015
  return
}

// -----

// a callee is a function
memref.global "private" @g : memref<4xf32>
func.func @f() {
  call @g() : () -> ()
//^ V009
  return
}

// -----

// a call passes what the callee takes
func.func private @g(i32)
func.func @f(%a: i64) {
  call @g(%a) : (i64) -> ()
//        ^ V009
  return
}

// -----

// a call passes as many values as the callee takes
func.func private @g(i32)
func.func @f() {
  call @g() : () -> ()
//^ V009
  return
}

// -----

// a call gives what the callee gives
func.func private @g() -> i32
func.func @f() {
  %0 = call @g() : () -> i64
//     ^ V009
  return
}

// -----

// a call gives as many results as the callee
func.func private @g() -> i32
func.func @f() {
  call @g() : () -> ()
//^ V009
  return
}

// -----

// a function does not call itself otherwise
func.func @f(%a: i32) {
  call @f() : () -> ()
//^ V009
  return
}

// -----

// the type of a call lists its operands
func.func private @g(i32)
func.func @f(%a: i32) {
  call @g(%a) : () -> ()
//              ^ P015
  return
}

// -----

// a call has a type
func.func private @g()
func.func @f() {
  call @g()
  return
//^ P001
}

// -----

// a callee is a symbol
func.func @f(%g: () -> ()) {
  call %g() : () -> ()
//     ^ P001
  return
}

// -----

// the callee of an indirect call is a value
func.func @f() {
  call_indirect @g() : () -> ()
//              ^ P001
  return
}

// -----

// the callee of an indirect call is a function
func.func @f(%g: i32) {
  "func.call_indirect"(%g) : (i32) -> ()
//                     ^ V021
  return
}

// -----

// an indirect call has the type of its callee
func.func @f(%g: (i32) -> i32, %a: i32) {
  %0 = call_indirect %g(%a) : (i32) -> i64
//                   ^ P014
  return
}

// -----

// an indirect call in generic form has the type of its callee
func.func @f(%g: (i32) -> i32, %a: i32) {
  %0 = "func.call_indirect"(%g, %a) : ((i32) -> i32, i32) -> i64
//     ^ V001
  return
}

// -----

// an indirect call passes every argument
func.func @f(%g: (i32) -> (), %a: i32) {
  call_indirect %g() : (i32) -> ()
//                ^ P015
  return
}

// -----

// a function constant names a function
func.func @f() {
  %0 = constant @g : () -> ()
//              ^ V007
  return
}

// -----

// a function constant has the function's type
func.func private @g(i32)
func.func @f() {
  %0 = constant @g : () -> ()
//     ^ V009
  return
}

// -----

// a global exists
func.func @f() {
  %0 = memref.get_global @g : memref<4xf32>
//                       ^ V007
  return
}

// -----

// a global has its type
memref.global "private" @g : memref<4xf32>
func.func @f() {
  %0 = memref.get_global @g : memref<5xf32>
//     ^ V001
  return
}

// -----

// a function is no global
func.func private @g()
func.func @f() {
  %0 = memref.get_global @g : memref<4xf32>
//     ^ V009
  return
}

// -----

// a launched kernel exists
func.func @f(%n: index) {
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
//                ^ V007
  return
}

// -----

// a launch passes what the kernel takes
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index) {
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
//^ V009
  return
}
