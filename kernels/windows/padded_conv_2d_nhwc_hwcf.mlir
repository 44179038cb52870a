!element = f32
#zero = 0.0 : f32
#strides = dense<[1, 1]> : tensor<2xi64>
#dilations = dense<[1, 1]> : tensor<2xi64>
#top = affine_map<(d0) -> (d0 + 1)>
#left = affine_map<(d0) -> (d0 + 1)>
#bottom = affine_map<(d0) -> (d0 + 1)>
#right = affine_map<(d0) -> (d0 + 1)>
!array = memref<?x?x?x?x!element>

func.func private @clear(%padded: !array, %n: index, %y: index, %left: index,
                         %right: index, %channels: index) {
  %zero = arith.constant #zero
  affine.for %x = %left to %right {
    affine.for %c = 0 to %channels {
      affine.store %zero, %padded[%n, %y, %x, %c] : !array
    }
  }
  return
}

func.func @conv2d(%image: !array, %filter: !array, %result: !array) {
  %zero = arith.constant #zero
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %images = memref.dim %image, %c0 : !array
  %channels = memref.dim %image, %c3 : !array
  %high = memref.dim %image, %c1 : !array
  %wide = memref.dim %image, %c2 : !array
  %top = affine.apply #top(%c0)
  %left = affine.apply #left(%c0)
  %bottom = affine.apply #top(%high)
  %right = affine.apply #left(%wide)
  %height = affine.apply #bottom(%bottom)
  %width = affine.apply #right(%right)
  %padded = memref.alloc(%images, %height, %width, %channels) : !array
  affine.for %n = 0 to %images {
    affine.for %y = 0 to %top {
      func.call @clear(%padded, %n, %y, %c0, %width, %channels)
          : (!array, index, index, index, index, index) -> ()
    }
    affine.for %y = %bottom to %height {
      func.call @clear(%padded, %n, %y, %c0, %width, %channels)
          : (!array, index, index, index, index, index) -> ()
    }
    affine.for %y = %top to %bottom {
      func.call @clear(%padded, %n, %y, %c0, %left, %channels)
          : (!array, index, index, index, index, index) -> ()
      func.call @clear(%padded, %n, %y, %right, %width, %channels)
          : (!array, index, index, index, index, index) -> ()
      affine.for %x = 0 to %wide {
        affine.for %c = 0 to %channels {
          %pixel = affine.load %image[%n, %y - symbol(%top), %x, %c] : !array
          affine.store %pixel, %padded[%n, %y, %x + symbol(%left), %c] : !array
        }
      }
    }
  }
  linalg.fill ins(%zero : !element) outs(%result : !array)
  linalg.conv_2d_nhwc_hwcf {dilations = #dilations, strides = #strides}
      ins(%padded, %filter : !array, !array) outs(%result : !array)
  memref.dealloc %padded : !array
  return
}
