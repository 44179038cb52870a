// Programs of control flow: `f` writes `o[i]` from `a[i]`, one program a section.
// ---- switch_in_a_function
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %r = func.call @g(%v) : (i32) -> i32
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
func.func private @g(%v: i32) -> i32 {
  %c10 = arith.constant 10 : i32
  cf.switch %v : i32, [
    default: ^d(%v : i32),
    0: ^one,
    5: ^d(%c10 : i32)
  ]
^one:
  %m = arith.constant -1 : i32
  return %m : i32
^d(%x: i32):
  %y = arith.addi %x, %x : i32
  return %y : i32
}
// ---- switch_in_a_region
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  %c10 = arith.constant 10 : i32
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %r = scf.execute_region -> i32 {
      cf.switch %v : i32, [ default: ^d(%v : i32), -3: ^one, 5: ^d(%c10 : i32) ]
    ^one:
      %m = arith.constant -1 : i32
      scf.yield %m : i32
    ^d(%x: i32):
      %y = arith.addi %x, %x : i32
      scf.yield %y : i32
    }
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
// ---- index_switch
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %x = arith.index_cast %v : i32 to index
    %r = scf.index_switch %x -> i32
    case 0 { %c = arith.constant 10 : i32
      scf.yield %c : i32 }
    case 5 { %c = arith.constant 50 : i32
      scf.yield %c : i32 }
    default { scf.yield %v : i32 }
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
// ---- index_switch_without_results
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  %c7 = arith.constant 7 : i32
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    affine.store %v, %o[%i] : memref<16xi32>
    scf.index_switch %i
    case 2 { affine.store %c7, %o[%i] : memref<16xi32>
      scf.yield }
    default { }
  }
  return
}
// ---- region_of_blocks
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  %c3 = arith.constant 3 : i32
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %r = scf.execute_region -> i32 {
      %c = arith.cmpi sgt, %v, %c3 : i32
      cf.cond_br %c, ^big, ^small
    ^big:
      %d = arith.muli %v, %c3 : i32
      cf.br ^end(%d : i32)
    ^small:
      %e = arith.subi %v, %c3 : i32
      cf.br ^end(%e : i32)
    ^end(%z: i32):
      scf.yield %z : i32
    }
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
// ---- region_with_a_loop
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  %c1 = arith.constant 1 : i32
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  affine.for %i = 0 to 16 {
    %v0 = affine.load %a[%i] : memref<16xi32>
    %v = arith.addi %v0, %c1 : i32
    %r = scf.execute_region -> i32 {
      cf.br ^head(%v, %c0 : i32, i32)
    ^head(%x: i32, %n: i32):
      %c = arith.cmpi ne, %x, %c1 : i32
      cf.cond_br %c, ^body, ^end
    ^body:
      %odd = arith.andi %x, %c1 : i32
      %isodd = arith.cmpi eq, %odd, %c1 : i32
      cf.cond_br %isodd, ^up, ^down
    ^up:
      %u0 = arith.muli %x, %c3 : i32
      %u = arith.addi %u0, %c1 : i32
      %n1 = arith.addi %n, %c1 : i32
      cf.br ^head(%u, %n1 : i32, i32)
    ^down:
      %d = arith.divsi %x, %c2 : i32
      %n2 = arith.addi %n, %c1 : i32
      cf.br ^head(%d, %n2 : i32, i32)
    ^end:
      scf.yield %n : i32
    }
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
// ---- while
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c0 = arith.constant 0 : i32
  affine.for %i = 0 to 16 {
    %v0 = affine.load %a[%i] : memref<16xi32>
    %v = arith.addi %v0, %c1 : i32
    %r:2 = scf.while (%x = %v, %n = %c0) : (i32, i32) -> (i32, i32) {
      %c = arith.cmpi sgt, %x, %c1 : i32
      scf.condition(%c) %x, %n : i32, i32
    } do {
    ^bb0(%x: i32, %n: i32):
      %y = arith.divsi %x, %c2 : i32
      %m = arith.addi %n, %c1 : i32
      scf.yield %y, %m : i32, i32
    }
    affine.store %r#1, %o[%i] : memref<16xi32>
  }
  return
}
// ---- early_return
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %r = func.call @g(%v) : (i32) -> i32
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
func.func private @g(%v: i32) -> i32 {
  %c3 = arith.constant 3 : i32
  %c = arith.cmpi slt, %v, %c3 : i32
  cf.cond_br %c, ^early, ^late
^early:
  return %v : i32
^late:
  %w = arith.muli %v, %c3 : i32
  %d = arith.cmpi sgt, %w, %v : i32
  cf.cond_br %d, ^x, ^early
^x:
  return %w : i32
}
// ---- irreducible_blocks
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %r = func.call @g(%v) : (i32) -> i32
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
func.func private @g(%v: i32) -> i32 {
  %c3 = arith.constant 3 : i32
  %c1 = arith.constant 1 : i32
  %c20 = arith.constant 20 : i32
  %c = arith.cmpi slt, %v, %c3 : i32
  cf.cond_br %c, ^p(%v : i32), ^q(%v : i32)
^p(%x: i32):
  %x1 = arith.addi %x, %c3 : i32
  %t = arith.cmpi sgt, %x1, %c20 : i32
  cf.cond_br %t, ^e(%x1 : i32), ^q(%x1 : i32)
^q(%y: i32):
  %y1 = arith.addi %y, %c1 : i32
  %s = arith.cmpi sgt, %y1, %c20 : i32
  cf.cond_br %s, ^e(%y1 : i32), ^p(%y1 : i32)
^e(%z: i32):
  return %z : i32
}
// ---- recursion
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %r = func.call @fib(%v) : (i32) -> i32
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
func.func private @fib(%v: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c = arith.cmpi slt, %v, %c2 : i32
  %r = scf.if %c -> i32 {
    scf.yield %v : i32
  } else {
    %x = arith.subi %v, %c1 : i32
    %y = arith.subi %v, %c2 : i32
    %p = func.call @fib(%x) : (i32) -> i32
    %q = func.call @fib(%y) : (i32) -> i32
    %s = arith.addi %p, %q : i32
    scf.yield %s : i32
  }
  return %r : i32
}
// ---- mutual_recursion
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %r = func.call @even(%v) : (i32) -> i1
    %e = arith.extui %r : i1 to i32
    affine.store %e, %o[%i] : memref<16xi32>
  }
  return
}
func.func private @even(%v: i32) -> i1 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = arith.constant true
  %c = arith.cmpi sle, %v, %c0 : i32
  cf.cond_br %c, ^yes, ^no
^yes:
  return %t : i1
^no:
  %w = arith.subi %v, %c1 : i32
  %r = func.call @odd(%w) : (i32) -> i1
  return %r : i1
}
func.func private @odd(%v: i32) -> i1 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = arith.constant false
  %c = arith.cmpi sle, %v, %c0 : i32
  cf.cond_br %c, ^yes, ^no
^yes:
  return %t : i1
^no:
  %w = arith.subi %v, %c1 : i32
  %r = func.call @even(%w) : (i32) -> i1
  return %r : i1
}
// ---- selected_function
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  %g = func.constant @twice : (i32) -> i32
  %h = func.constant @same : (i32) -> i32
  %c3 = arith.constant 3 : i32
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %c = arith.cmpi sgt, %v, %c3 : i32
    %k = arith.select %c, %g, %h : (i32) -> i32
    %r = func.call_indirect %k(%v) : (i32) -> i32
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
func.func private @twice(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
func.func private @same(%a: i32) -> i32 {
  return %a : i32
}
// ---- passed_function
func.func @f(%a: memref<16xi32>, %o: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %v = affine.load %a[%i] : memref<16xi32>
    %r = func.call @w(%v) : (i32) -> i32
    affine.store %r, %o[%i] : memref<16xi32>
  }
  return
}
func.func private @w(%v: i32) -> i32 {
  %g = func.constant @twice : (i32) -> i32
  %h = func.constant @same : (i32) -> i32
  %c3 = arith.constant 3 : i32
  %c = arith.cmpi sgt, %v, %c3 : i32
  cf.cond_br %c, ^d(%g : (i32) -> i32), ^d(%h : (i32) -> i32)
^d(%k: (i32) -> i32):
  %r = func.call_indirect %k(%v) : (i32) -> i32
  return %r : i32
}
func.func private @twice(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
func.func private @same(%a: i32) -> i32 {
  return %a : i32
}
