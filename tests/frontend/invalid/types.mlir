// integers have a width
func.func private @f(i)
//                   ^ P008

// -----

// widths have a limit
func.func private @f(i16777216)
//                   ^ P024

// -----

// floats have fixed names
func.func private @f(f31)
//                   ^ P008

// -----

// a small float is one of the listed formats
func.func private @f(f8E5M3)
//                   ^ P008

// -----

// a complex number is of floats or integers
func.func private @f(complex<index>)
//                           ^ P024

// -----

// a complex number is not of vectors
func.func private @f(complex<vector<4xf32>>)
//                           ^ P024

// -----

// a complex number has one element type
func.func private @f(complex<f32, f32>)
//                              ^ P004

// -----

// a vector has no zero extent
func.func private @f(vector<0xf32>)
//                          ^ P024

// -----

// a vector has no dynamic extent
func.func private @f(vector<?xf32>)
//                          ^ P024

// -----

// a vector is ranked
func.func private @f(vector<*xf32>)
//                          ^ P001

// -----

// a vector holds scalars
func.func private @f(vector<4xmemref<4xf32>>)
//                            ^ P024

// -----

// a vector holds no tensors
func.func private @f(vector<4xtensor<4xf32>>)
//                            ^ P024

// -----

// extents are decimal
func.func private @f(vector<0x4x2xf32>)
//                          ^ P024

// -----

// extents are not negative
func.func private @f(tensor<-1xf32>)
//                          ^ P001

// -----

// an extent fits 64 bits
func.func private @f(tensor<99999999999999999999xf32>)
//                          ^ P020

// -----

// a tensor holds no memrefs
func.func private @f(tensor<4xmemref<4xf32>>)
//                            ^ P024

// -----

// a tensor holds no tensors
func.func private @f(tensor<4xtensor<4xf32>>)
//                            ^ P024

// -----

// a tensor holds no functions
func.func private @f(tensor<4x() -> ()>)
//                            ^ P024

// -----

// only vectors scale
func.func private @f(tensor<[4]xf32>)
//                          ^ P024

// -----

// a memref does not scale
func.func private @f(memref<[4]xf32>)
//                          ^ P024

// -----

// an unranked tensor has its x
func.func private @f(tensor<*f32>)
//                          ^ P001

// -----

// an unranked memref has its x
func.func private @f(memref<*f32>)
//                          ^ P001

// -----

// an unranked memref has no layout
func.func private @f(memref<*xf32, affine_map<(d0) -> (d0)>>)
//                                 ^ P024

// -----

// a memref holds no tensors
func.func private @f(memref<4xtensor<4xf32>>)
//                            ^ P024

// -----

// a memref holds no functions
func.func private @f(memref<4x() -> ()>)
//                            ^ P024

// -----

// a memref has an element type
func.func private @f(memref<2x3, strided<[6, 2]>>)
//                            ^ P001

// -----

// a memref of rank one has an element type
func.func private @f(memref<2>)
//                          ^ P001

// -----

// a tensor has an element type
func.func private @f(tensor<>)
//                          ^ P001

// -----

// a layout has one stride per dimension
func.func private @f(memref<2x3xf32, strided<[1]>>)
//                                   ^ V025

// -----

// a stride is not zero in a layout of positive strides
func.func private @f(memref<2x3xf32, strided<[3, x]>>)
//                                               ^ P001

// -----

// a layout map takes one dimension per extent
func.func private @f(memref<2x3xf32, affine_map<(i) -> (i)>>)
//                                   ^ V025

// -----

// a layout's offset is named
func.func private @f(memref<4xf32, strided<[1], ofset: 3>>)
//                                              ^ P001

// -----

// a layout comes before the memory space
func.func private @f(memref<4xf32, 1, affine_map<(i) -> (i)>>)
//                                  ^ P004

// -----

// one memory space is enough
func.func private @f(memref<4xf32, 1, 2>)
//                                  ^ P004

// -----

// a function type has an arrow
func.func private @f((i32))
//                        ^ P001

// -----

// a tuple closes
func.func private @f(tuple<i32, >)
//                              ^ P001

// -----

// types are defined before they are named
func.func private @f(!missing)
//                   ^ P009

// -----

// a dialect type is balanced
func.func private @f(!tf.opaque<[4>)
//                                ^ P004

// -----

// an attribute is no type
#a = 4 : i32
func.func private @f(#a)
//                   ^ P001

// -----

// a dialect type has a name after the dot
func.func private @f(!tf."x")
//                       ^ P004

// -----

// a tensor has at most one encoding
func.func private @f(tensor<4xf32, 1, 2>)
//                                  ^ P004
