// in a graph region values are used before their definition
func.func @f() {
  "test.region"() ({
    %0 = "test.a"(%1) : (i32) -> i32
    %1 = "test.b"(%0) : (i32) -> i32
  }) : () -> ()
  return
}
// -----
// a module is a graph region
%0 = "test.a"(%1) : (i32) -> i32
%1 = "test.b"() : () -> i32
// -----
// regions within a graph region use later values, too
"test.graph"() ({
  %0 = "test.a"(%1) ({
    "test.inner"(%1, %2) : (i32, i32) -> ()
  }) : (i32) -> i32
  "test.cfg"() ({
  ^a:
    "test.br"(%1)[^b] : (i32) -> ()
  ^b:
    "test.use"(%2) : (i32) -> ()
  }) : () -> ()
  %1 = "test.b"() : () -> i32
  %2 = "test.b"() : () -> i32
}) : () -> ()
// -----
// a graph region within ordinary control flow
func.func @f(%c: i1) {
  %0 = scf.if %c -> i32 {
    %1 = "foo.x"() ({
      %2 = "foo.y"(%3) : (i32) -> i32
      %3 = "foo.y"(%2) : (i32) -> i32
    }) : () -> i32
    scf.yield %1 : i32
  } else {
    %1 = arith.constant 1 : i32
    scf.yield %1 : i32
  }
  return
}
// -----
// dominance means nothing in an unreachable block
func.func @f() {
  return
^dead(%x: i32):
  "test.use"(%y) : (i32) -> ()
  %y = arith.addi %x, %x : i32
  cf.br ^dead(%y : i32)
}
// -----
// unreachable blocks branch into reachable ones
func.func @f() -> i32 {
  %c = arith.constant 1 : i32
  cf.br ^b
^dead:
  %x = arith.constant 1 : i32
  cf.br ^dead2
^dead2:
  "test.use"(%x) : (i32) -> ()
  cf.br ^b
^b:
  return %c : i32
}
// -----
// the order of blocks in the text is not that of execution
func.func @f(%x: i32) {
  cf.br ^c
^b:
  "test.use"(%v) : (i32) -> ()
  return
^c:
  %v = arith.addi %x, %x : i32
  cf.br ^b
}
// -----
// a block may be a target several times
func.func @f(%c: i1, %x: i32) {
  cf.cond_br %c, ^a(%x : i32), ^a(%x : i32)
^a(%y: i32):
  cf.switch %y : i32, [default: ^b, 1: ^a(%x : i32), 2: ^a(%y : i32)]
^b:
  return
}
// -----
// regions of unknown operations may be empty, or have empty blocks
func.func @f() {
  "foo.nothing"() : () -> ()
  "foo.empty"() ({}, {}) : () -> ()
  "foo.block"() ({
  ^bb0(%x: i32):
  }) : () -> ()
  return
}
// -----
// an unknown operation may end any block
func.func @f(%c: i1) {
  scf.if %c {
    "foo.terminates"() : () -> ()
  }
  cf.cond_br %c, ^a, ^b
^a:
  "foo.terminates"()[^b] : () -> ()
^b:
  "foo.terminates"() : () -> ()
}
// -----
// how an unknown operation passes values to a block is its own affair
func.func @f(%a: i32) {
  "foo.br"(%a)[^b] : (i32) -> ()
^b(%x: f32):
  return
}
// -----
// a value is used in the regions of an unknown operation
func.func @f(%a: i32) -> i32 {
  %0 = "foo.region"(%a) ({
  ^bb0(%x: i32):
    %1 = arith.addi %x, %a : i32
    "foo.yield"(%1) : (i32) -> ()
  }) {attr = 1 : i32} : (i32) -> i32
  return %0 : i32
}
// -----
// names end with their region
func.func @f(%c: i1) {
  scf.if %c {
    %x = arith.constant 1 : i32
  } else {
    %x = arith.constant 2 : i32
  }
  %x = arith.constant 3 : i32
  return
}
// -----
// symbols need not exist in attributes that nobody knows
func.func private @decl(i32 {foo.bar = @nope}, f32) -> (i32 {foo.x}) attributes {foo.y = @nope::@no}
func.func @f() {
  "foo.x"() {c = @nope, d = [@m::@zzz]} : () -> ()
  return
}
// -----
// each module has symbols of its own
module @a {
  module @b {
    func.func private @f()
  }
  module {
    func.func private @f()
  }
  func.func private @f()
}
module @b attributes {foo.x = 1} {
}
// -----
// unknown operations may share a symbol's name
"foo.symbol"() {sym_name = "a"} : () -> ()
"foo.symbol"() {sym_name = "a"} : () -> ()
// -----
// functions call themselves, and those that follow
func.func @f(%x: i32) -> i32 {
  %0 = func.call @f(%x) : (i32) -> i32
  %1 = func.call @g(%0) : (i32) -> i32
  return %1 : i32
}
func.func private @g(i32) -> i32
// -----
// functions are values
func.func @f() {
  %f = func.constant @g : (i32) -> i32
  %c = arith.constant 4 : i32
  %0 = call_indirect %f(%c) : (i32) -> i32
  return
}
func.func private @g(i32) -> i32
// -----
// several results have one name, or several
func.func @f(%x: i32) -> (i32, i32) {
  %0:2 = "foo.two"(%x) : (i32) -> (i32, i32)
  %1, %2 = "foo.two"(%0#1) : (i32) -> (i32, i32)
  %3:2, %4 = "foo.three"(%1, %2) : (i32, i32) -> (i32, i32, f32)
  "foo.unnamed"() : () -> i32
  return %3#0, %3#1 : i32, i32
}
// -----
// a region that is executed has blocks
func.func @f(%a: i32) -> i32 {
  %0 = scf.execute_region -> i32 {
    cf.br ^b(%a : i32)
  ^b(%x: i32):
    scf.yield %x : i32
  }
  return %0 : i32
}
// -----
// types of other dialects pass through everything
func.func @f(%a: !foo.x, %b: !foo.x, %c: i1) -> !foo.x {
  %0 = arith.select %c, %a, %b : !foo.x
  %1 = scf.if %c -> !foo.x {
    scf.yield %0 : !foo.x
  } else {
    scf.yield %b : !foo.x
  }
  cf.br ^x(%1 : !foo.x)
^x(%2: !foo.x):
  return %2 : !foo.x
}
// -----
// a strange name is a name
func.func @"a b.c"(%0: i32) {
  call @"a b.c"(%0) : (i32) -> ()
  return
}
// -----
// arguments and operations have locations
func.func @f(%arg0: i32 loc("x"), %arg1: i32) {
  cf.br ^a(%arg0 : i32)
^a(%x: i32 loc("y":1:2)):
  return loc(unknown)
} loc(fused["a", "b"])
// -----
// a parallel loop reduces to several results
func.func @f(%n: index, %x: f32) {
  %0:2 = scf.parallel (%i) = (%n) to (%n) step (%n) init (%x, %n) -> (f32, index) {
    scf.reduce(%x, %i : f32, index) {
    ^bb0(%a: f32, %b: f32):
      %1 = arith.addf %a, %b : f32
      scf.reduce.return %1 : f32
    }, {
    ^bb0(%a: index, %b: index):
      scf.reduce.return %a : index
    }
  }
  return
}
// -----
// an alias at the end of the text names another one there
func.func private @f() loc(#loc2)
#loc1 = loc("a":1:2)
#loc2 = loc(fused<[1, 2]>[#loc1])
// -----
// a kernel of another dialect is launched
module attributes {gpu.container_module} {
  gpu.module @k {
    llvm.func @e() attributes {gpu.kernel}
  }
  func.func @f(%n: index) {
    gpu.launch_func @k::@e blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
}
