// ----- func.func func.return func.call
func.func private @twice(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}
func.func @f(%x: f32) -> f32 {
  %y = call @twice(%x) : (f32) -> f32
  return %y : f32
}

// ----- func.constant func.call_indirect
func.func private @twice(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}
func.func @f(%x: f32) -> f32 {
  %g = constant @twice : (f32) -> f32
  %y = call_indirect %g(%x) : (f32) -> f32
  return %y : f32
}
