!element = f32
#zero = 0.0 : f32
#strides = dense<[1, 1]> : tensor<2xi64>
#dilations = dense<[1, 1]> : tensor<2xi64>
#top = affine_map<(d0) -> (d0 + 1)>
#left = affine_map<(d0) -> (d0 + 1)>
#bottom = affine_map<(d0) -> (d0 + 1)>
#right = affine_map<(d0) -> (d0 + 1)>
!array = memref<?x?x?x?x!element>

func.func private @clear(%padded: !array, %top: index, %bottom: index, %left: index,
                         %right: index) {
  %zero = arith.constant #zero
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %images = memref.dim %padded, %c0 : !array
  %channels = memref.dim %padded, %c1 : !array
  affine.for %n = 0 to %images {
    affine.for %c = 0 to %channels {
      affine.for %y = %top to %bottom {
        affine.for %x = %left to %right {
          affine.store %zero, %padded[%n, %c, %y, %x] : !array
        }
      }
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
  %channels = memref.dim %image, %c1 : !array
  %high = memref.dim %image, %c2 : !array
  %wide = memref.dim %image, %c3 : !array
  %top = affine.apply #top(%c0)
  %left = affine.apply #left(%c0)
  %bottom = affine.apply #top(%high)
  %right = affine.apply #left(%wide)
  %height = affine.apply #bottom(%bottom)
  %width = affine.apply #right(%right)
  %padded = memref.alloc(%images, %channels, %height, %width) : !array
  call @clear(%padded, %c0, %top, %c0, %width)
      : (!array, index, index, index, index) -> ()
  call @clear(%padded, %bottom, %height, %c0, %width)
      : (!array, index, index, index, index) -> ()
  call @clear(%padded, %top, %bottom, %c0, %left)
      : (!array, index, index, index, index) -> ()
  call @clear(%padded, %top, %bottom, %right, %width)
      : (!array, index, index, index, index) -> ()
  affine.for %n = 0 to %images {
    affine.for %c = 0 to %channels {
      affine.for %y = 0 to %high {
        affine.for %x = 0 to %wide {
          %pixel = affine.load %image[%n, %c, %y, %x] : !array
          affine.store %pixel, %padded[%n, %c, %y + symbol(%top), %x + symbol(%left)] : !array
        }
      }
    }
  }
  linalg.fill ins(%zero : !element) outs(%result : !array)
  linalg.conv_2d_nchw_fchw {dilations = #dilations, strides = #strides}
      ins(%padded, %filter : !array, !array) outs(%result : !array)
  memref.dealloc %padded : !array
  return
}
