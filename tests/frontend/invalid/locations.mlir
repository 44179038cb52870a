// a location is of a known kind
func.func private @f() loc(nowhere)
//                         ^ P001

// -----

// a location closes
func.func private @f() loc("a":1:2
//                                ^ P004

// -----

// a line is a number
func.func private @f() loc("a":x)
//                             ^ P001

// -----

// a column is a number
func.func private @f() loc("a":1:x)
//                               ^ P001

// -----

// a range has a column
func.func private @f() loc("a":1:2 to 3)
//                                     ^ P001

// -----

// a call site has a caller
func.func private @f() loc(callsite("a" "b"))
//                                      ^ P001

// -----

// a call site says what is called at what
func.func private @f() loc(callsite("a" at ))
//                                         ^ P001

// -----

// fused locations stand in brackets
func.func private @f() loc(fused("a", "b"))
//                              ^ P001

// -----

// a fused location is of locations
func.func private @f() loc(fused["a", 4])
//                                    ^ P001

// -----

// a named location has one child
func.func private @f() loc("a"("b", "c"))
//                                ^ P004

// -----

// an alias of a location is defined
func.func private @f() loc(#loc1)
//                         ^ P009

// -----

// an argument's location closes
func.func @f(%a: i32 loc("x", %b: i32) {
//                          ^ P004
  return
}
