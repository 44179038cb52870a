// name: tensors through a product and an activation
func.func private @printMemrefF32(tensor<*xf32>)
func.func @main() {
  %a = arith.constant dense<[[1.0, -2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<[[1.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %f0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2xf32>
  %z = linalg.fill ins(%f0 : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %p = linalg.matmul ins(%a, %b : tensor<2x2xf32>, tensor<2x2xf32>) outs(%z : tensor<2x2xf32>) -> tensor<2x2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) {
  ^bb0(%x: f32, %o: f32):
    %m = arith.maximumf %x, %f0 : f32
    linalg.yield %m : f32
  } -> tensor<2x2xf32>
  %u = tensor.cast %r : tensor<2x2xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [2, 2] strides = [2, 1] data = 
// > [[0,   0], 
// >  [7,   8]]
// -----
// name: collapse of tensors
func.func private @printMemrefF32(tensor<*xf32>)
func.func @main() {
  %c = arith.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %d = tensor.cast %c : tensor<1x2x3xf32> to tensor<1x?x?xf32>
  %r = tensor.collapse_shape %d [[0, 1], [2]] : tensor<1x?x?xf32> into tensor<?x?xf32>
  %u = tensor.cast %r : tensor<?x?xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [2, 3] strides = [3, 1] data = 
// > [[1,   2,   3], 
// >  [4,   5,   6]]
// -----
// name: padding a tensor by places
func.func private @printMemrefI32(tensor<*xi32>)
func.func @main() {
  %c = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %p = tensor.pad %c low[1, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    %s = arith.addi %i, %j : index
    %k = arith.index_cast %s : index to i32
    tensor.yield %k : i32
  } : tensor<2x2xi32> to tensor<3x3xi32>
  %u = tensor.cast %p : tensor<3x3xi32> to tensor<*xi32>
  call @printMemrefI32(%u) : (tensor<*xi32>) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [3, 3] strides = [3, 1] data = 
// > [[0,   1,   2], 
// >  [1,   2,   3], 
// >  [3,   4,   4]]
// -----
// name: slices in a loop of tensors
func.func private @printMemrefF32(tensor<*xf32>)
func.func @main() {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %t = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %r = scf.for %i = %c0 to %c6 step %c2 iter_args(%acc = %t) -> (tensor<6xf32>) {
    %s = tensor.extract_slice %acc[%i] [2] [1] : tensor<6xf32> to tensor<2xf32>
    %d = arith.addf %s, %s : tensor<2xf32>
    %n = tensor.insert_slice %d into %acc[%i] [2] [1] : tensor<2xf32> into tensor<6xf32>
    scf.yield %n : tensor<6xf32>
  }
  %u = tensor.cast %r : tensor<6xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [6] strides = [1] data = 
// > [2,  4,  6,  8,  10,  12]
// -----
// name: tensor elements and dimensions
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 2.5 : f32
  %g = arith.constant -1.0 : f32
  %t = tensor.from_elements %f, %g, %f, %f, %g, %g : tensor<2x3xf32>
  %x = tensor.extract %t[%c1, %c1] : tensor<2x3xf32>
  vector.print %x : f32
  %d = tensor.cast %t : tensor<2x3xf32> to tensor<?x?xf32>
  %n = tensor.dim %d, %c1 : tensor<?x?xf32>
  vector.print %n : index
  %r = tensor.rank %d : tensor<?x?xf32>
  vector.print %r : index
  %v = vector.transfer_read %t[%c0, %c0], %g : tensor<2x3xf32>, vector<2x3xf32>
  vector.print %v : vector<2x3xf32>
  return
}
// > -1
// > 3
// > 2
// > ( ( 2.5, -1, 2.5 ), ( 2.5, -1, -1 ) )
// -----
// name: while loops and branches
func.func @collatz(%n: i64) -> i64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %r:2 = scf.while (%x = %n, %k = %c0) : (i64, i64) -> (i64, i64) {
    %go = arith.cmpi ne, %x, %c1 : i64
    scf.condition(%go) %x, %k : i64, i64
  } do {
  ^bb0(%x: i64, %k: i64):
    %b = arith.remsi %x, %c2 : i64
    %odd = arith.cmpi eq, %b, %c1 : i64
    %y = scf.if %odd -> (i64) {
      %t = arith.muli %x, %c3 : i64
      %u = arith.addi %t, %c1 : i64
      scf.yield %u : i64
    } else {
      %h = arith.divsi %x, %c2 : i64
      scf.yield %h : i64
    }
    %l = arith.addi %k, %c1 : i64
    scf.yield %y, %l : i64, i64
  }
  return %r#1 : i64
}
func.func @main() {
  %a = arith.constant 27 : i64
  %b = arith.constant 1 : i64
  %x = call @collatz(%a) : (i64) -> i64
  vector.print %x : i64
  %y = call @collatz(%b) : (i64) -> i64
  vector.print %y : i64
  return
}
// > 111
// > 0
// -----
// name: blocks and recursion
func.func @fib(%n: i32) -> i32 {
  %c2 = arith.constant 2 : i32
  %small = arith.cmpi slt, %n, %c2 : i32
  cf.cond_br %small, ^base, ^step
^base:
  return %n : i32
^step:
  %c1 = arith.constant 1 : i32
  %a = arith.subi %n, %c1 : i32
  %b = arith.subi %n, %c2 : i32
  %x = call @fib(%a) : (i32) -> i32
  %y = call @fib(%b) : (i32) -> i32
  %s = arith.addi %x, %y : i32
  return %s : i32
}
func.func @main() {
  %c = arith.constant 10 : i32
  %r = call @fib(%c) : (i32) -> i32
  vector.print %r : i32
  return
}
// > 55
// -----
// name: switches
func.func @name(%i: i32) -> i32 {
  cf.switch %i : i32, [
    default: ^other(%i : i32),
    1: ^one,
    -7: ^seven
  ]
^one:
  %a = arith.constant 100 : i32
  return %a : i32
^seven:
  %b = arith.constant 700 : i32
  return %b : i32
^other(%x: i32):
  %c = arith.addi %x, %x : i32
  return %c : i32
}
func.func @main() {
  %c1 = arith.constant 1 : i32
  %cm7 = arith.constant -7 : i32
  %c5 = arith.constant 5 : i32
  %x = call @name(%c1) : (i32) -> i32
  %y = call @name(%cm7) : (i32) -> i32
  %z = call @name(%c5) : (i32) -> i32
  vector.print %x : i32
  vector.print %y : i32
  vector.print %z : i32
  %k = arith.constant 2 : index
  %s = scf.index_switch %k -> f32
  case 2 {
    %f = arith.constant 2.5 : f32
    scf.yield %f : f32
  }
  default {
    %g = arith.constant 0.0 : f32
    scf.yield %g : f32
  }
  vector.print %s : f32
  return
}
// > 100
// > 700
// > 10
// > 2.5
// -----
// name: functions passed on
func.func private @twice(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  return %y : i32
}
func.func private @square(%x: i32) -> i32 {
  %y = arith.muli %x, %x : i32
  return %y : i32
}
func.func @main() {
  %f = constant @twice : (i32) -> i32
  %g = constant @square : (i32) -> i32
  %c7 = arith.constant 7 : i32
  %t = arith.constant false
  %h = arith.select %t, %f, %g : (i32) -> i32
  %r = call_indirect %h(%c7) : (i32) -> i32
  vector.print %r : i32
  return
}
// > 49
// -----
// name: parallel loops that reduce
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %f0 = arith.constant 0.0 : f32
  %s = scf.parallel (%i, %j) = (%c0, %c0) to (%c5, %c5) step (%c1, %c1) init (%f0) -> f32 {
    %p = arith.muli %i, %j : index
    %k = arith.index_cast %p : index to i32
    %x = arith.sitofp %k : i32 to f32
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      scf.reduce.return %r : f32
    }
  }
  vector.print %s : f32
  return
}
// > 100
// -----
// name: affine nests
func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %A = memref.alloc() : memref<4x4xi32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 4 {
      %s = affine.apply affine_map<(d0, d1) -> (d0 * 4 + d1)>(%i, %j)
      %k = arith.index_cast %s : index to i32
      affine.store %k, %A[%i, %j] : memref<4x4xi32>
    }
  }
  affine.for %i = 1 to 4 {
    affine.for %j = affine_map<(d0) -> (d0)>(%i) to min affine_map<(d0) -> (d0 + 2, 4)>(%i) {
      %x = affine.load %A[%i - 1, %j] : memref<4x4xi32>
      %y = affine.load %A[%i, %j] : memref<4x4xi32>
      %z = arith.addi %x, %y : i32
      affine.store %z, %A[%i, %j] : memref<4x4xi32>
    }
  }
  %u = memref.cast %A : memref<4x4xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return
}
// > Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [4, 4] strides = [4, 1] data = 
// > [[0,   1,   2,   3], 
// >  [4,   6,   8,   7], 
// >  [8,   9,   18,   18], 
// >  [12,   13,   14,   33]]
// -----
// name: scalar arithmetic at the edges
func.func @main() {
  %m = arith.constant -7 : i32
  %n = arith.constant 2 : i32
  %0 = arith.floordivsi %m, %n : i32
  %1 = arith.divsi %m, %n : i32
  %2 = arith.remsi %m, %n : i32
  %3 = arith.ceildivsi %m, %n : i32
  %4 = arith.shrui %m, %n : i32
  %5 = arith.shrsi %m, %n : i32
  vector.print %0 : i32
  vector.print %1 : i32
  vector.print %2 : i32
  vector.print %3 : i32
  vector.print %4 : i32
  vector.print %5 : i32
  %sum, %over = arith.addui_extended %m, %m : i32, i1
  vector.print %sum : i32
  vector.print %over : i1
  %low, %high = arith.mulsi_extended %m, %m : i32
  vector.print %low : i32
  vector.print %high : i32
  %nan = arith.constant 0x7FC00000 : f32
  %one = arith.constant 1.0 : f32
  %6 = arith.maximumf %nan, %one : f32
  %7 = arith.maxnumf %nan, %one : f32
  vector.print %6 : f32
  vector.print %7 : f32
  %8 = arith.cmpf ueq, %nan, %one : f32
  vector.print %8 : i1
  %9 = math.ctpop %m : i32
  vector.print %9 : i32
  %t = arith.trunci %m : i32 to i8
  vector.print %t : i8
  return
}
// > -4
// > -3
// > -1
// > -3
// > 1073741822
// > -2
// > -14
// > 1
// > 49
// > 0
// > nan
// > 1
// > 1
// > 30
// > -7
// -----
// name: functions of math
func.func @main() {
  %x = arith.constant 2.0 : f32
  %0 = math.sqrt %x : f32
  vector.print %0 : f32
  %1 = math.exp2 %x : f32
  vector.print %1 : f32
  %y = arith.constant -2.5 : f64
  %2 = math.floor %y : f64
  vector.print %2 : f64
  %3 = math.roundeven %y : f64
  vector.print %3 : f64
  %4 = math.absf %y : f64
  vector.print %4 : f64
  %5 = math.copysign %4, %y : f64
  vector.print %5 : f64
  %z = arith.constant 3 : i32
  %6 = math.ipowi %z, %z : i32
  vector.print %6 : i32
  %7 = math.fma %x, %x, %x : f32
  vector.print %7 : f32
  return
}
// > 1.41421
// > 4
// > -3
// > -2
// > 2.5
// > -2.5
// > 27
// > 6
// -----
// name: complex numbers
func.func @main() {
  %a = arith.constant 1.5 : f32
  %b = arith.constant -2.0 : f32
  %x = complex.create %a, %b : complex<f32>
  %y = complex.mul %x, %x : complex<f32>
  %r = complex.re %y : complex<f32>
  %i = complex.im %y : complex<f32>
  vector.print %r : f32
  vector.print %i : f32
  %n = complex.abs %x : complex<f32>
  vector.print %n : f32
  return
}
// > -1.75
// > -6
// > 2.5
// -----
// name: pooling and reductions
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %t = arith.constant dense<[[[[1.0], [5.0], [2.0], [0.0]], [[3.0], [4.0], [8.0], [7.0]]]]> : tensor<1x2x4x1xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<1x1x2x1xf32>
  %z = linalg.fill ins(%low : f32) outs(%e : tensor<1x1x2x1xf32>) -> tensor<1x1x2x1xf32>
  %p = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%t, %w : tensor<1x2x4x1xf32>, tensor<2x2xf32>) outs(%z : tensor<1x1x2x1xf32>) -> tensor<1x1x2x1xf32>
  %l = tensor.collapse_shape %p [[0, 1, 2, 3]] : tensor<1x1x2x1xf32> into tensor<2xf32>
  %c0 = arith.constant 0 : index
  %v = vector.transfer_read %l[%c0], %low : tensor<2xf32>, vector<2xf32>
  vector.print %v : vector<2xf32>
  %f0 = arith.constant dense<0.0> : tensor<f32>
  %s = linalg.reduce {arith.addf} ins(%l : tensor<2xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  %x = tensor.extract %s[] : tensor<f32>
  vector.print %x : f32
  return
}
// > ( 5, 8 )
// > 13
// -----
// name: a kernel on a device
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%a: memref<4xf32>, %b: memref<4xf32>) kernel {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<4xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %b[%i] : memref<4xf32>
      gpu.return
    }
  }
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %f = arith.constant 1.25 : f32
    %a = memref.alloc() : memref<4xf32>
    %b = memref.alloc() : memref<4xf32>
    linalg.fill ins(%f : f32) outs(%a : memref<4xf32>)
    %u = memref.cast %a : memref<4xf32> to memref<*xf32>
    %v = memref.cast %b : memref<4xf32> to memref<*xf32>
    gpu.host_register %u : memref<*xf32>
    gpu.host_register %v : memref<*xf32>
    gpu.launch_func @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%a : memref<4xf32>, %b : memref<4xf32>)
    call @printMemrefF32(%v) : (memref<*xf32>) -> ()
    return
  }
}
// > Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [4] strides = [1] data = 
// > [2.5,  2.5,  2.5,  2.5]
// -----
// name: a launch in place, reduced over its threads
func.func @main() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c0 = arith.constant 0 : index
  %out = memref.alloc() : memref<8xi32>
  %w = memref.cast %out : memref<8xi32> to memref<*xi32>
  gpu.host_register %w : memref<*xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c8, %sy = %c1, %sz = %c1) {
    %k = arith.index_cast %tx : index to i32
    %s = gpu.all_reduce add %k uniform {} : (i32) -> (i32)
    memref.store %s, %out[%tx] : memref<8xi32>
    gpu.terminator
  }
  %x = memref.load %out[%c0] : memref<8xi32>
  vector.print %x : i32
  return
}
// > 28
// -----
// name: nested modules of constants and strings
memref.global "private" constant @k : memref<2x2xf64> = dense<[[0.5, 1.5], [2.5, 3.5]]>
func.func private @printF64(f64)
func.func private @printNewline()
func.func private @printOpen()
func.func private @printClose()
func.func private @printComma()
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = memref.get_global @k : memref<2x2xf64>
  call @printOpen() : () -> ()
  affine.for %i = 0 to 2 {
    %x = affine.load %g[%i, %i] : memref<2x2xf64>
    call @printF64(%x) : (f64) -> ()
    call @printComma() : () -> ()
  }
  %y = memref.load %g[%c1, %c0] : memref<2x2xf64>
  call @printF64(%y) : (f64) -> ()
  call @printClose() : () -> ()
  call @printNewline() : () -> ()
  vector.print str "done\n"
  return
}
// > ( 0.5, 3.5, 2.5 )
// > done
