// a loop has as many bounds as variables
func.func @f(%n: index) {
  scf.parallel (%i, %j) = (%n) to (%n) step (%n) {
//^ V016
  }
  return
}

// -----

// a parallel loop has a lower bound for each upper one
func.func @f(%n: index) {
  scf.parallel (%i) = (%n) to (%n, %n) step (%n) {
//^ V016
  }
  return
}

// -----

// a parallel loop has a step for each bound
func.func @f(%n: index) {
  scf.parallel (%i) = (%n) to (%n) step (%n, %n) {
//^ V016
  }
  return
}

// -----

// a parallel loop has a variable
func.func @f() {
  scf.parallel () = () to () step () {
//^ V016
  }
  return
}

// -----

// a parallel loop reduces each initial value
func.func @f(%n: index, %x: f32) {
  %0 = scf.parallel (%i) = (%n) to (%n) step (%n) init (%x) -> f32 {
//     ^ V016
    scf.reduce
  }
  return
}

// -----

// a parallel loop reduces nothing else
func.func @f(%n: index, %x: f32) {
  scf.parallel (%i) = (%n) to (%n) step (%n) {
//^ V016
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      scf.reduce.return %a : f32
    }
  }
  return
}

// -----

// a reduction is of the result's type
func.func @f(%n: index, %x: f32, %y: f64) {
  %0 = scf.parallel (%i) = (%n) to (%n) step (%n) init (%x) -> f32 {
//     ^ V016
    scf.reduce(%y : f64) {
    ^bb0(%a: f64, %b: f64):
      scf.reduce.return %a : f64
    }
  }
  return
}

// -----

// a reduction has a body for each operand
func.func @f(%n: index, %x: f32) {
  %0 = scf.parallel (%i) = (%n) to (%n) step (%n) init (%x) -> f32 {
    "scf.reduce"(%x) : (f32) -> ()
//  ^ V022
  }
  return
}

// -----

// a reduction's body takes two values
func.func @f(%n: index, %x: f32) {
  %0 = scf.parallel (%i) = (%n) to (%n) step (%n) init (%x) -> f32 {
    "scf.reduce"(%x) ({
//  ^ V016
    ^bb0(%a: f32):
      scf.reduce.return %a : f32
    }) : (f32) -> ()
  }
  return
}

// -----

// a reduction's body returns the reduced type
func.func @f(%n: index, %x: f32, %y: f64) {
  %0 = scf.parallel (%i) = (%n) to (%n) step (%n) init (%x) -> f32 {
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      scf.reduce.return %y : f64
//                      ^ V017
    }
  }
  return
}

// -----

// a bound is an index
func.func @f(%n: i32) {
  scf.parallel (%i) = (%n) to (%n) step (%n) {
//                     ^ P014
  }
  return
}

// -----

// a loop's bounds have one type
func.func @f(%n: index, %m: i32) {
  scf.for %i = %n to %m step %n {
//                   ^ P014
  }
  return
}

// -----

// a loop's bounds are integers
func.func @f(%n: f32) {
  scf.for %i = %n to %n step %n {
//             ^ P014
  }
  return
}

// -----

// a condition is i1
func.func @f(%n: index) {
  scf.if %n {
//       ^ P014
  }
  return
}

// -----

// a while loop's condition is i1
func.func @f(%n: index) {
  scf.while : () -> () {
    scf.condition(%n)
//                ^ P014
  } do {
    scf.yield
  }
  return
}

// -----

// a while loop starts with the types that it states
func.func @f(%n: index) {
  scf.while (%a = %n) : (f32) -> () {
//                ^ P014
    %c = arith.constant true
    scf.condition(%c)
  } do {
    scf.yield %n : index
  }
  return
}

// -----

// a while loop repeats with the types of its start
func.func @f(%n: index, %x: f32) {
  scf.while (%a = %n) : (index) -> () {
    %c = arith.constant true
    scf.condition(%c)
  } do {
    scf.yield %x : f32
//            ^ V017
  }
  return
}

// -----

// the second part of a while loop takes the results
func.func @f(%n: index) {
  %0 = scf.while (%a = %n) : (index) -> index {
//     ^ V016
    %c = arith.constant true
    scf.condition(%c) %a : index
  } do {
  ^bb0(%b: f32):
    scf.yield %n : index
  }
  return
}

// -----

// a switch lists each case once
func.func @f(%n: index) {
  scf.index_switch %n
//^ V015
  case 1 {
  }
  case 1 {
  }
  default {
  }
  return
}

// -----

// a switch has a default
func.func @f(%n: index) {
  scf.index_switch %n
  case 1 {
  }
  return
//^ P001
}

// -----

// every case of a switch yields the results
func.func @f(%n: index, %x: f32) {
  %0 = scf.index_switch %n -> index
  case 1 {
    scf.yield %x : f32
//            ^ V017
  }
  default {
    scf.yield %n : index
  }
  return
}

// -----

// a region that is executed yields the results
func.func @f(%n: index, %x: f32) {
  %0 = scf.execute_region -> index {
    scf.yield %x : f32
//            ^ V017
  }
  return
}

// -----

// a region that is executed is not empty
func.func @f() {
  "scf.execute_region"() ({
//^ V022
  }) : () -> ()
  return
}

// -----

// outputs of a loop over all are tensors
func.func @f(%n: index, %x: f32) {
  %0 = scf.forall (%i) in (%n) shared_outs(%o = %x) -> (f32) {
//                                              ^ V021
  }
  return
}

// -----

// a carried value is named once
func.func @f(%n: index, %x: f32) {
  %0:2 = scf.for %i = %n to %n step %n iter_args(%a = %x, %a = %x) -> (f32, f32) {
//                                                        ^ P007
    scf.yield %a, %a : f32, f32
  }
  return
}

// -----

// a result is not known within its own loop
func.func @f(%n: index, %x: f32) {
  %0 = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (f32) {
    scf.yield %0 : f32
//            ^ V006
  }
  return
}

// -----

// a carried value is not known outside
func.func @f(%n: index, %x: f32) -> f32 {
  %0 = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (f32) {
    scf.yield %a : f32
  }
  return %a : f32
//       ^ P006
}

// -----

// bounds of a loop do not use its variable
func.func @f(%n: index) {
  scf.for %i = %n to %i step %n {
//                   ^ P006
  }
  return
}
