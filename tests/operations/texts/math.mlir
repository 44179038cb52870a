// ----- math.clampf
(%a: memref<4xf32>)
%low = arith.constant 0.25 : f32
%high = arith.constant 0.4 : f32
affine.for %i = 0 to 4 {
  %x = affine.load %a[%i] : memref<4xf32>
  %y = math.clampf %x to [%low, %high] : f32
  affine.store %y, %a[%i] : memref<4xf32>
}
