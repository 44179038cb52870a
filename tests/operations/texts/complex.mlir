// ----- complex.constant
() -> complex<f32>
%r = complex.constant [1.0 : f32, -2.0 : f32] : complex<f32>

// ----- complex.atan2
(%x: complex<f32>, %y: complex<f32>) -> complex<f32>
%r = complex.atan2 %x, %y : complex<f32>

// ----- complex.bitcast
(%x: i64) -> complex<f32>
%r = complex.bitcast %x : i64 to complex<f32>
