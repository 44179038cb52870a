// ----- builtin.module
builtin.module {
  func.func @f(%x: f32) -> f32 { return %x : f32 }
}

// ----- builtin.unrealized_conversion_cast
(%x: f32) -> f32
%r = builtin.unrealized_conversion_cast %x : f32 to f32
