// a number without a dot is no float
func.func private @f() attributes {a = 42 : f32}
//                                     ^ P013

// -----

// a number with a dot is no integer
func.func private @f() attributes {a = 4.0 : i32}
//                                     ^ P013

// -----

// a number with a dot is no index
func.func private @f() attributes {a = 4.0 : index}
//                                     ^ P013

// -----

// an integer fits its type
func.func private @f() attributes {a = 256 : i8}
//                                     ^ P012

// -----

// a negative integer fits its type
func.func private @f() attributes {a = -129 : i8}
//                                     ^ P012

// -----

// an unsigned integer is not negative
func.func private @f() attributes {a = -1 : ui8}
//                                     ^ P012

// -----

// a signed integer keeps its sign bit
func.func private @f() attributes {a = 128 : si8}
//                                     ^ P012

// -----

// an integer without a type has 64 bits
func.func private @f() attributes {a = 18446744073709551616}
//                                     ^ P012

// -----

// the bits of a float fit its width
func.func private @f() attributes {a = 0x1FFFFFFFF : f32}
//                                     ^ P012

// -----

// the bits of a float have no sign
func.func private @f() attributes {a = -0x7F800000 : f32}
//                                     ^ P013

// -----

// a number is not of a tensor type
func.func private @f() attributes {a = 1 : tensor<4xi32>}
//                                     ^ P013

// -----

// a boolean is of type i1
func.func private @f() attributes {a = true : i32}
//                                     ^ P013

// -----

// keys are unique
func.func private @f() attributes {a = 1, b, a = 2}
//                                           ^ P011

// -----

// keys are unique however they are written
func.func private @f() attributes {a = 1, "a" = 2}
//                                        ^ P011

// -----

// keys of a nested dictionary are unique
func.func private @f() attributes {d = {x, x}}
//                                         ^ P011

// -----

// a key is a name or a string
func.func private @f() attributes {4 = 1}
//                                 ^ P001

// -----

// a value follows the equals sign
func.func private @f() attributes {a = }
//                                     ^ P001

// -----

// an array closes
func.func private @f() attributes {a = [1, 2}
//                                          ^ P004

// -----

// entries of a dictionary have commas
func.func private @f() attributes {a = 1 b = 2}
//                                       ^ P004

// -----

// a list fits its shape
func.func private @f() attributes {a = dense<[1, 2, 3]> : tensor<2xi32>}
//                                           ^ P021

// -----

// a nested list fits its shape
func.func private @f() attributes {a = dense<[[1, 2], [3, 4]]> : tensor<4xi32>}
//                                           ^ P021

// -----

// the rows of a list are equally long
func.func private @f() attributes {a = dense<[[1, 2], [3]]> : tensor<2x2xi32>}
//                                           ^ P023

// -----

// a list mixes no depths
func.func private @f() attributes {a = dense<[[1], 2]> : tensor<2x1xi32>}
//                                           ^ P023

// -----

// an empty literal is of an empty type
func.func private @f() attributes {a = dense<> : tensor<2xi32>}
//                                           ^ P021

// -----

// a dense literal has a shaped type
func.func private @f() attributes {a = dense<1> : i32}
//                                           ^ P023

// -----

// a dense literal has a static shape
func.func private @f() attributes {a = dense<1> : tensor<?xi32>}
//                                           ^ P023

// -----

// a dense literal has a type
func.func private @f() attributes {a = dense<1>}
//                                           ^ P023

// -----

// elements fit their type
func.func private @f() attributes {a = dense<[1, 300]> : tensor<2xi8>}
//                                               ^ P012

// -----

// float elements have a dot
func.func private @f() attributes {a = dense<[1.0, 2]> : tensor<2xf32>}
//                                                 ^ P013

// -----

// integer elements have none
func.func private @f() attributes {a = dense<[1, 2.0]> : tensor<2xi32>}
//                                               ^ P013

// -----

// booleans are elements of i1 only
func.func private @f() attributes {a = dense<[true, false]> : tensor<2xi32>}
//                                            ^ P013

// -----

// a complex element is a pair
func.func private @f() attributes {a = dense<(1.0)> : tensor<2xcomplex<f32>>}
//                                           ^ P013

// -----

// a pair is of a complex type
func.func private @f() attributes {a = dense<(1.0, 2.0)> : tensor<2xf32>}
//                                           ^ P013

// -----

// a blob has the bytes of its type
func.func private @f() attributes {a = dense<"0x010203"> : tensor<2xi32>}
//                                           ^ P023

// -----

// a blob is hexadecimal
func.func private @f() attributes {a = dense<"0xZZ"> : tensor<1xi8>}
//                                           ^ P023

// -----

// a string is no number
func.func private @f() attributes {a = dense<"text"> : tensor<1xi32>}
//                                           ^ P013

// -----

// a sparse literal has its indices
func.func private @f() attributes {a = sparse<[[0, 0]], [1, 2]> : tensor<3x4xi32>}
//                                                      ^ P023

// -----

// the indices of a sparse literal are inside
func.func private @f() attributes {a = sparse<[[0, 4]], [1]> : tensor<3x4xi32>}
//                                                 ^ P023

// -----

// the indices of a sparse literal have the rank
func.func private @f() attributes {a = sparse<[[0, 0, 0]], [1]> : tensor<3x4xi32>}
//                                            ^ P023

// -----

// a sparse literal is of a static type
func.func private @f() attributes {a = sparse<[[0]], [1]> : tensor<?xi32>}
//                                                          ^ P023

// -----

// a dense array is of numbers
func.func private @f() attributes {a = array<index: 1>}
//                                           ^ P023

// -----

// an array is of whole bytes
func.func private @f() attributes {a = array<i7: 1>}
//                                           ^ P023

// -----

// the elements of an array fit
func.func private @f() attributes {a = array<i8: 300>}
//                                               ^ P012

// -----

// the elements of an array are of its kind
func.func private @f() attributes {a = array<i8: 1.5>}
//                                               ^ P013

// -----

// an array of one type has a colon
func.func private @f() attributes {a = array<i8 1>}
//                                              ^ P004

// -----

// an attribute alias is defined
func.func private @f() attributes {a = #missing}
//                                     ^ P009

// -----

// a map is not a set
func.func private @f() attributes {a = affine_set<(d0) -> (d0)>}
//                                                     ^ P001

// -----

// a set is not a map
func.func private @f() attributes {a = affine_map<(d0) : (d0 >= 0)>}
//                                                     ^ P001

// -----

// a nested symbol is a symbol
func.func private @f() attributes {a = @f::g}
//                                         ^ P001

// -----

// equal numbers stand for one distinct attribute
func.func private @f() attributes {a = distinct[0]<1>, b = distinct[0]<2>}
//                                                                     ^ P023

// -----

// a distinct attribute has a number
func.func private @f() attributes {a = distinct[x]<1>}
//                                              ^ P001

// -----

// strides are integers
func.func private @f() attributes {a = strided<[a]>}
//                                              ^ P001

// -----

// a dialect attribute is balanced
func.func private @f() attributes {a = #tf.x<(>}
//                                            ^ P004
