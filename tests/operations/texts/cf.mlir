// ----- cf.br cf.cond_br
func.func @f(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^left(%x : i32), ^right
^left(%y: i32):
  %0 = arith.addi %y, %x : i32
  cf.br ^join(%0 : i32)
^right:
  cf.br ^join(%x : i32)
^join(%z: i32):
  return %z : i32
}

// ----- cf.switch
func.func @f(%x: i32) -> i32 {
  cf.switch %x : i32, [
    default: ^end(%x : i32),
    2: ^two
  ]
^two:
  %0 = arith.muli %x, %x : i32
  cf.br ^end(%0 : i32)
^end(%z: i32):
  return %z : i32
}

// ----- cf.assert
(%c: i1)
cf.assert %c, "it holds"
