// ----- scf.for scf.if scf.yield
(%a: memref<4xf32>, %c: i1) -> f32
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 4 : index
%s = arith.constant 0.0 : f32
%r = scf.for %i = %zero to %n step %one iter_args(%t = %s) -> f32 {
  %x = memref.load %a[%i] : memref<4xf32>
  %y = scf.if %c -> f32 {
    scf.yield %x : f32
  } else {
    scf.yield %s : f32
  }
  %u = arith.addf %t, %y : f32
  scf.yield %u : f32
}

// ----- scf.while scf.condition
(%n: i32) -> i32
%one = arith.constant 1 : i32
%ten = arith.constant 10 : i32
%r = scf.while (%i = %n) : (i32) -> i32 {
  %c = arith.cmpi slt, %i, %ten : i32
  scf.condition(%c) %i : i32
} do {
^bb0(%i: i32):
  %j = arith.addi %i, %one : i32
  scf.yield %j : i32
}

// ----- scf.parallel scf.reduce scf.reduce.return
(%a: memref<4xf32>) -> f32
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%n = arith.constant 4 : index
%s = arith.constant 0.0 : f32
%r = scf.parallel (%i) = (%zero) to (%n) step (%one) init (%s) -> f32 {
  %x = memref.load %a[%i] : memref<4xf32>
  scf.reduce(%x : f32) {
  ^bb0(%p: f32, %q: f32):
    %t = arith.addf %p, %q : f32
    scf.reduce.return %t : f32
  }
}

// ----- scf.forall scf.forall.in_parallel
(%t: tensor<4xf32>) -> tensor<4xf32>
%r = scf.forall (%i) in (4) shared_outs(%o = %t) -> tensor<4xf32> {
  %x = tensor.extract_slice %t[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
  %y = arith.addf %x, %x : tensor<1xf32>
  scf.forall.in_parallel {
    tensor.parallel_insert_slice %y into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
  }
}

// ----- scf.index_switch
(%n: index, %x: f32) -> f32
%r = scf.index_switch %n -> f32
case 2 {
  %y = arith.addf %x, %x : f32
  scf.yield %y : f32
}
default {
  scf.yield %x : f32
}

// ----- scf.execute_region
(%x: f32) -> f32
%r = scf.execute_region -> f32 {
  %y = arith.addf %x, %x : f32
  scf.yield %y : f32
}
