module @outer attributes {author = "x", nested = {a = 1 : i32, b = [1, 2.0, "s"], c}} {
  func.func private @external(f32, i32 {llvm.noalias}) -> (f32 {test.attr = 1 : i64}, i32)
  func.func nested @attributed(%a: f32 {a.b = 1 : i32}, %b: i32) -> f32 attributes {inline, width = 3 : i8} {
    %0:2 = call @external(%a, %b) : (f32, i32) -> (f32, i32)
    %1 = scf.execute_region -> f32 {
      scf.yield %0#0 : f32
    }
    return %1 : f32
  }
  func.func @blocks(%c: i1, %x: i32) -> i32 {
    cf.cond_br %c, ^left(%x : i32), ^right
  ^left(%y: i32):
    %0 = arith.addi %y, %x : i32
    cf.br ^join(%0, %y : i32, i32)
  ^right:
    cf.assert %c, "message"
    cf.switch %x : i32, [
      default: ^left(%x : i32),
      42: ^join(%x, %x : i32, i32)
    ]
  ^join(%z: i32, %w: i32):
    return %z : i32
  }
  func.func @structured(%n: index, %c: i1, %x: f32) -> f32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (f32, f32) {
      %1 = scf.if %c -> (f32) {
        scf.yield %a : f32
      } else {
        scf.yield %b : f32
      }
      scf.yield %1, %a : f32, f32
    }
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        func.call @structured(%n, %c, %x) : (index, i1, f32) -> f32
      }
    }
    %i32 = arith.constant 4 : i32
    scf.for %i = %i32 to %i32 step %i32 : i32 {
    }
    %2 = scf.while (%a = %x) : (f32) -> f32 {
      scf.condition(%c) %a : f32
    } do {
    ^bb0(%b: f32):
      scf.yield %b : f32
    }
    scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
      scf.reduce
    }
    %3 = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%x) -> f32 {
      scf.reduce(%x : f32) {
      ^bb0(%l: f32, %r: f32):
        %4 = arith.addf %l, %r : f32
        scf.reduce.return %4 : f32
      }
    }
    %5 = scf.index_switch %n -> f32
    case 2 {
      scf.yield %x : f32
    }
    default {
      scf.yield %3 : f32
    }
    return %5 : f32
  }
  module @inner {
  }
}
