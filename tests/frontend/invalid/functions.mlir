// a function has a name
func.func (%a: i32) {
//        ^ P001
  return
}

// -----

// a name starts with an at sign
func.func f() {
//        ^ P001
  return
}

// -----

// a dollar sign is no part of a keyword
func $@f() {
//   ^ P001
  return
}

// -----

// a function has a list of arguments
func.func @f {
//           ^ P001
  return
}

// -----

// arguments are all named or none
func.func @f(%a: i32, i32) {
//          ^ P026
  return
}

// -----

// a named argument has a type
func.func @f(%a) {
//             ^ P001
  return
}

// -----

// a body is not empty
func.func @f() {
//             ^ V027
}

// -----

// a function whose types alone are given has arguments in its block
  func.func @f(i32) {
//^ V001
    return
  }

// -----

// the entry block repeats the signature
  func.func @f(i32) {
//^ V001
  ^bb0(%a: i64):
    return
  }

// -----

// the entry block has as many arguments as the signature
  func.func @f(i32) {
//^ V001
  ^bb0(%a: i32, %b: i32):
    return
  }

// -----

// an entry block does not repeat named arguments
func.func @f(%a: i32) {
^bb0(%a: i32):
//   ^ P007
  return
}

// -----

// a return gives what the signature says
func.func @f(%a: i32) -> i64 {
  return %a : i32
//       ^ V010
}

// -----

// a return gives every result
func.func @f(%a: i32) -> (i32, i32) {
  return %a : i32
//^ V010
}

// -----

// a return gives no more than the results
func.func @f(%a: i32) {
  return %a : i32
//^ V010
}

// -----

// every return agrees with the signature
func.func @f(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^a, ^b
^a:
  return %a : i32
^b:
  return
//^ V010
}

// -----

// the second value of a return agrees as well
func.func @f(%a: i32, %b: i64) -> (i32, i32) {
  return %a, %b : i32, i64
//           ^ V010
}

// -----

// returned values have types
  func.func @f(%a: i32) -> i32 {
    return %a
  }
//^ P001

// -----

// an arrow is followed by a type
func.func private @f() -> {a}
//                        ^ P001

// -----

// a list of results closes
func.func private @f() -> (i32, i32{a}
//                                    ^ P004

// -----

// a visibility is public, private or nested
func.func hidden @f()
//        ^ P001

// -----

// a visibility in generic form is public, private or nested
  "func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "hidden"}> ({
//^ V015
  }) : () -> ()

// -----

// a function in generic form has a name
  "func.func"() <{function_type = () -> ()}> ({
//^ V014
  }) : () -> ()

// -----

// a function in generic form has a type
  "func.func"() <{sym_name = "f"}> ({
//^ V014
  }) : () -> ()

// -----

// the type of a function is a function type
  "func.func"() <{function_type = i32, sym_name = "f"}> ({
//^ V015
  }) : () -> ()

// -----

// a function has a region
  "func.func"() <{function_type = () -> (), sym_name = "f"}> : () -> ()
//^ V022

// -----

// a function gives no result
%0 = "func.func"() <{function_type = () -> (), sym_name = "f"}> ({
//   ^ V003
}) : () -> i32

// -----

// there is one attribute dictionary per argument
  "func.func"() <{arg_attrs = [{}], function_type = (i32, i32) -> (), sym_name = "f"}> ({
//^ V015
  }) : () -> ()

// -----

// there is one attribute dictionary per result
  "func.func"() <{function_type = () -> i32, res_attrs = [{}, {}], sym_name = "f"}> ({
//^ V015
  }) : () -> ()

// -----

// attributes of arguments are dictionaries
  "func.func"() <{arg_attrs = [1], function_type = (i32) -> (), sym_name = "f"}> ({
//^ V015
  }) : () -> ()

// -----

// names are not declared twice among the attributes
func.func private @f() attributes {sym_name = "g"}
//                     ^ P023

// -----

// functions have different names
func.func private @f()
func.func private @f()
//                ^ V008

// -----

// a function and a global have different names
memref.global "private" @f : memref<4xf32>
func.func private @f()
//                ^ V008

// -----

// functions of a nested module have different names
module @m {
  func.func private @f()
  func.func private @f()
//                  ^ V008
}

// -----

// modules have different names
module @m {
}
module @m {
//     ^ V008
}

// -----

// a module has braces
module @m func.func private @f()
//        ^ P001
