!scalar = f32
!row = memref<4x?x!scalar, strided<[?, 1], offset: ?>>
!pair = tuple<!scalar, !row>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#tiled = affine_map<(d0, d1)[s0] -> (d0 floordiv s0, d1, d0 mod s0)>
#where = loc("types.mlir":1:1)
func.func private @integers(i0, i1, i8, i128, si8, ui16, i16777215, index, none)
func.func private @floats(f16, bf16, f32, f64, f80, f128, tf32, f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E3M4, f8E4M3,
                          f8E4M3B11FNUZ, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU)
func.func private @aggregates(complex<f32>, complex<i8>, tuple<>, tuple<i32, tuple<none>, tensor<i1>>, !pair) loc(#where)
func.func private @functions(() -> (), (i32) -> i32, (i32, f32) -> (i32, f32), () -> (() -> i32), (() -> ()) -> ())
func.func private @vectors(vector<f32>, vector<4xindex>, vector<3x42xi32>, vector<[4]xf32>, vector<2x[4]x8xf32>, vector<16 x f32>)
func.func private @tensors(tensor<f32>, tensor<0x?xi1>, tensor<*xcomplex<f64>>, tensor<4xvector<2xf32>>, tensor<4xf32, "encoding">,
                           tensor<4x!dialect.type<x>>, tensor<?x?xf64, #sparse_tensor.encoding<{map = (d0, d1) -> (d0 : dense)}>>)
func.func private @memrefs(memref<f32>, memref<0x?xf32>, memref<4xvector<4xf32>>, memref<4xmemref<*xf32, 2>>, memref<4xindex>, !row)
func.func private @layouts(memref<4x4xf32, #swap>, memref<?x?xf32, #tiled>, memref<4xf32, affine_map<(d0) -> (d0)>>, memref<4x4xf32, strided<[1, 4]>, 3>)
func.func private @spaces(memref<4xf32, 0>, memref<4xf32, 1>, memref<4xf32, 1 : i32>, memref<4xf32, "vmem">, memref<4xf32, {a, b = 1}>,
                          memref<4xf32, #gpu.address_space<workgroup>>, memref<*xf32, 3>, memref<4xf32, true>, memref<4xf32, i32>)
func.func private @dialects(!llvm.ptr, !llvm.ptr<3>, !llvm.struct<(i32, array<4 x f32>)>, !foo.bar<"text >", (i32) -> [2], a::b>, !foo<"a\"b">,
                            !quant.uniform<i8:f32, 1.0:-3>, !spirv.array<4 x f32, stride=4>, !foo.nested<<a>, {b = <c>}>)
