// Convolutions of a padded image: a ResNet-50 layer with stride 2, and a dilated one.

func.func @nhwc_strided(%image: memref<?x?x?x?xf32>, %filter: memref<?x?x?x?xf32>,
                       %result: memref<?x?x?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%result : memref<?x?x?x?xf32>)
  linalg.conv_2d_nhwc_hwcf
      {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%image, %filter : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>)
      outs(%result : memref<?x?x?x?xf32>)
  return
}

func.func @nhwc_dilated(%image: memref<?x?x?x?xf32>, %filter: memref<?x?x?x?xf32>,
                       %result: memref<?x?x?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%result : memref<?x?x?x?xf32>)
  linalg.conv_2d_nhwc_hwcf
      {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 2]> : tensor<2xi64>}
      ins(%image, %filter : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>)
      outs(%result : memref<?x?x?x?xf32>)
  return
}

func.func @nchw_strided(%image: memref<?x?x?x?xf32>, %filter: memref<?x?x?x?xf32>,
                       %result: memref<?x?x?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%result : memref<?x?x?x?xf32>)
  linalg.conv_2d_nchw_fchw
      {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%image, %filter : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>)
      outs(%result : memref<?x?x?x?xf32>)
  return
}

func.func @nchw_dilated(%image: memref<?x?x?x?xf32>, %filter: memref<?x?x?x?xf32>,
                       %result: memref<?x?x?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%result : memref<?x?x?x?xf32>)
  linalg.conv_2d_nchw_fchw
      {dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 2]> : tensor<2xi64>}
      ins(%image, %filter : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>)
      outs(%result : memref<?x?x?x?xf32>)
  return
}
