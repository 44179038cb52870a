// a string closes on its line
func.func private @f() attributes {a = "open}
//                                     ^ P002

// -----

// a string does not span lines
func.func private @f() attributes {a = "first
//                                     ^ P002
second"}

// -----

// no control characters
func.func private @f()  attributes {a}
//                     ^ P003

// -----

// no letters beyond ASCII
func.func private @é()
//                ^ P001

// -----

// an integer has no dot, an element count none
func.func private @f(memref<4.5xf32>)
//                          ^ P001

// -----

// a value name is not empty
func.func @f(% : i32) {
//           ^ P001
  return
}

// -----

// a symbol name is not empty
func.func private @()
//                ^ P001

// -----

// a block name is not empty
func.func @f() {
  cf.br ^
//      ^ P001
}

// -----

// a bare word is no operation
func.func @f() {
  nothing
//^ P005
  return
}

// -----

// a number is no operation
func.func @f() {
  42
//^ P001
  return
}

// -----

// a closing bracket pairs with its opening one
func.func private @f(tuple<i32)>
//                            ^ P004

// -----

// braces close before the end
func.func @f() {
  return
//      ^ P004

// -----

// one brace is enough
  func.func @f() {
    return
  }
  }
//^ P001

// -----

// a comment is not closed by a slash
  /* no comment */
//^ P001
  func.func private @f()

// -----

// a suffix number is a number
func.func @f(%a: i32) -> i32 {
  return %a#x : i32
//         ^ P001
}

// -----

// only the listed escapes are known
func.func private @f() attributes {a = "\q"}
//                                      ^ P003

// -----

// blanks do not divide the dialect from the name
func.func @f() {
  %0 = arith .constant 1 : i32
//     ^ P005
  return
}
