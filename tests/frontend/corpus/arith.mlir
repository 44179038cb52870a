func.func @integers(%a: i32, %b: i32, %i: index, %v: vector<4xi32>) -> (i32, i1) {
  %0 = arith.addi %a, %b : i32
  %1 = arith.addi %0, %b overflow<nsw> : i32
  %2 = arith.subi %1, %b overflow<nsw, nuw> : i32
  %3 = arith.muli %2, %a : i32
  %4 = arith.divsi %3, %b : i32
  %5 = arith.remui %4, %b : i32
  %6 = arith.ceildivsi %5, %b : i32
  %7 = arith.floordivsi %6, %b : i32
  %8 = arith.andi %7, %a : i32
  %9 = arith.shli %8, %a : i32
  %10 = arith.shrui %9, %a : i32
  %11 = arith.maxsi %10, %a {note = "kept"} : i32
  %12 = arith.cmpi slt, %11, %a : i32
  %13 = arith.select %12, %11, %a : i32
  %14 = arith.addi %v, %v : vector<4xi32>
  %15 = arith.cmpi ult, %v, %14 : vector<4xi32>
  %16 = arith.select %15, %v, %14 : vector<4xi1>, vector<4xi32>
  %sum, %overflow = arith.addui_extended %13, %a : i32, i1
  %low, %high = arith.mulsi_extended %13, %a : i32
  %17 = arith.index_cast %i : index to i32
  %18 = arith.extsi %a : i32 to i64
  %19 = arith.trunci %18 : i64 to i32
  %20 = arith.bitcast %a : i32 to f32
  return %19, %12 : i32, i1
}
func.func @floats(%x: f32, %y: f32, %t: tensor<4x?xf32>) -> f32 {
  %0 = arith.addf %x, %y : f32
  %1 = arith.mulf %0, %y fastmath<fast> : f32
  %2 = arith.divf %1, %y fastmath<nnan,contract> : f32
  %3 = arith.negf %2 : f32
  %4 = arith.maximumf %3, %y : f32
  %5 = arith.cmpf oge, %4, %y : f32
  %6 = arith.extf %4 : f32 to f64
  %7 = arith.truncf %6 : f64 to f32
  %8 = arith.truncf %6 to_nearest_even : f64 to f32
  %9 = arith.fptosi %7 : f32 to i32
  %10 = arith.sitofp %9 : i32 to f32
  %11 = arith.addf %t, %t : tensor<4x?xf32>
  %12 = math.exp %x : f32
  %13 = math.powf %12, %x fastmath<fast> : f32
  %14 = math.fma %x, %y, %13 : f32
  %15 = math.ctpop %9 : i32
  %16 = math.isnan %x : f32
  %17 = math.fpowi %x, %9 : f32, i32
  return %14 : f32
}
func.func @constants() {
  %0 = arith.constant 1 : i32
  %1 = arith.constant -7 : i64
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %2 = arith.constant 1.5 : f32
  %3 = arith.constant -1.0e-30 : f64
  %4 = arith.constant 0x7F800000 : f32
  %5 = arith.constant 0.1 : bf16
  %6 = arith.constant dense<0.0> : vector<4x8xf32>
  %7 = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %8 = arith.constant dense<[true, false]> : tensor<2xi1>
  %9 = arith.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %10 = arith.constant dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>
  %11 = arith.constant dense<> : tensor<0xf32>
  %12 = arith.constant {note} 3 : i8
  %13 = arith.constant 3.40282347E+38 : f32
  %f = func.constant @constants : () -> ()
  func.call_indirect %f() : () -> ()
  call_indirect %f() : () -> ()
  return
}
