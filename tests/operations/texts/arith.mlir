// ----- arith.constant
(%a: memref<4xf32>)
%x = arith.constant 1.5 : f32
affine.for %i = 0 to 4 { affine.store %x, %a[%i] : memref<4xf32> }

// ----- arith.flush_denormals
(%a: memref<4xf32>)
affine.for %i = 0 to 4 {
  %x = affine.load %a[%i] : memref<4xf32>
  %y = arith.flush_denormals %x : f32
  affine.store %y, %a[%i] : memref<4xf32>
}

// ----- arith.scaling_extf
(%a: memref<4xf8E4M3FN>, %s: memref<4xf8E8M0FNU>, %b: memref<4xf32>)
affine.for %i = 0 to 4 {
  %x = affine.load %a[%i] : memref<4xf8E4M3FN>
  %k = affine.load %s[%i] : memref<4xf8E8M0FNU>
  %y = arith.scaling_extf %x, %k : f8E4M3FN, f8E8M0FNU to f32
  affine.store %y, %b[%i] : memref<4xf32>
}

// ----- arith.scaling_truncf
(%a: memref<4xf32>, %s: memref<4xf8E8M0FNU>, %b: memref<4xf8E4M3FN>)
affine.for %i = 0 to 4 {
  %x = affine.load %a[%i] : memref<4xf32>
  %k = affine.load %s[%i] : memref<4xf8E8M0FNU>
  %y = arith.scaling_truncf %x, %k : f32, f8E8M0FNU to f8E4M3FN
  affine.store %y, %b[%i] : memref<4xf8E4M3FN>
}
