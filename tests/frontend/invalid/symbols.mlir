// symbols of one table differ
memref.global "private" @a : memref<4xf32>
memref.global "private" @a : memref<8xf32>
//                      ^ V008

// -----

// symbols of a nested table differ
module @m {
  module @n {
    func.func private @a()
    func.func private @a()
//                    ^ V008
  }
}

// -----

// symbols of a table in generic form differ
"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "a", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "a", sym_visibility = "private"}> ({
//^ V008
  }) : () -> ()
}) : () -> ()

// -----

// a symbol within another one is found by its path only
module @outer {
  module @inner {
    func.func private @g()
  }
  func.func @f() {
    call @g() : () -> ()
//       ^ V007
    return
  }
}

// -----

// every part of a path exists
gpu.module @m {
}
func.func @f(%n: index) {
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
//                ^ V007
  return
}

// -----

// a function is no table of symbols
func.func private @g()
func.func @f(%n: index) {
  gpu.launch_func @g::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
//                ^ V007
  return
}

// -----

// a symbol of a sibling module is not visible
module @a {
  func.func private @g()
}
module @b {
  func.func @f() {
    call @g() : () -> ()
//       ^ V007
    return
  }
}

// -----

// a symbol of the surrounding module is not visible
func.func private @g()
module {
  func.func @f() {
    call @g() : () -> ()
//       ^ V007
    return
  }
}

// -----

// a function stands in a module
func.func @f() {
  func.func @g() {
//^ V023
    return
  }
  return
}

// -----

// a global stands in a module
func.func @f() {
  memref.global "private" @g : memref<4xf32>
//^ V023
  return
}

// -----

// a symbol has a name
  "memref.global"() <{type = memref<4xf32>}> : () -> ()
//^ V014

// -----

// a name is a string
  "memref.global"() <{sym_name = 4, type = memref<4xf32>}> : () -> ()
//^ V015

// -----

// a name in a nested path starts with an at sign
func.func @f() {
  call @a::b() : () -> ()
//         ^ P001
  return
}

// -----

// colons of a path come in pairs
func.func @f() {
  call @a:@b() : () -> ()
//       ^ P001
  return
}

// -----

// a global has a memref type
  memref.global "private" @g : tensor<4xf32>
//^ V016

// -----

// a global has a static shape
  memref.global "private" @g : memref<?xf32>
//^ V016

// -----

// the value of a global has its shape
  memref.global "private" @g : memref<4xf32> = dense<1.0> : tensor<8xf32>
//^ V016
