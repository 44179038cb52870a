// ----- ub.poison
(%x: f32, %c: i1) -> f32
%p = ub.poison : f32
%yes = arith.constant true
%r = arith.select %yes, %x, %p : f32

// ----- ub.unreachable
func.func @f(%c: i1, %x: f32) -> f32 {
  cf.cond_br %c, ^end, ^never
^never:
  ub.unreachable
^end:
  return %x : f32
}
