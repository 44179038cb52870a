!element = f32
#zero = 0.0 : f32
#strides = dense<[1, 1]> : tensor<2xi64>
#dilations = dense<[1, 1]> : tensor<2xi64>

func.func @conv2d(%image: memref<?x?x?x?x!element>, %filter: memref<?x?x?x?x!element>,
                  %result: memref<?x?x?x?x!element>) {
  %zero = arith.constant #zero
  linalg.fill ins(%zero : !element) outs(%result : memref<?x?x?x?x!element>)
  linalg.conv_2d_nhwc_hwcf {dilations = #dilations, strides = #strides}
      ins(%image, %filter : memref<?x?x?x?x!element>, memref<?x?x?x?x!element>)
      outs(%result : memref<?x?x?x?x!element>)
  return
}
