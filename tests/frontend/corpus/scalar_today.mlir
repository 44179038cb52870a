// affine, scf, cf, func, arith, math, index, complex and ub, late in 2026.
func.func @loops(%A: memref<100x100xf32>, %N: index, %M: index) {
  affine.for %i = 0 to 10 { }
  affine.for %i = -3 to %N step 2 { }
  affine.for %i = affine_map<()[s0] -> (s0 + 1)>()[%N] to affine_map<(d0)[s0] -> (d0 * 2 + s0)>(%M)[%N] {
    affine.for %j = max affine_map<(d0)[s0] -> (d0, s0, 0)>(%i)[%N] to min affine_map<(d0) -> (d0 + 5, 100)>(%i) step 3 {
      %0 = affine.load %A[%i, %j] : memref<100x100xf32>
      %1 = affine.load %A[%i + %j, %j * 2 - 1] : memref<100x100xf32>
      %2 = affine.load %A[%i floordiv 2, (%j + symbol(%N)) mod 5] : memref<100x100xf32>
      affine.store %0, %A[%i + 1, symbol(%M) ceildiv 3] : memref<100x100xf32>
      %v = affine.vector_load %A[%i, %j + 3] : memref<100x100xf32>, vector<8xf32>
      affine.vector_store %v, %A[%i, %j] : memref<100x100xf32>, vector<8xf32>
      affine.prefetch %A[%i, %j + 5], read, locality<3>, data : memref<100x100xf32>
      affine.prefetch %A[%i, 0], write, locality<0>, instr : memref<100x100xf32>
    }
  }
  affine.for %i = 0 to 10 { } {foo = 1 : i32}
  return
}

#set = affine_set<(d0, d1)[s0] : (d0 - d1 >= 0, s0 - d0 == 0, d1 floordiv 2 - 3 >= 0)>
#map = affine_map<(d0)[s0] -> (d0 + s0)>
func.func @conditions(%N: index, %f: f32) -> f32 {
  %c1 = arith.constant 1 : index
  affine.for %i = 0 to 10 {
    affine.for %j = #map(%i)[%N] to 100 {
      affine.if #set(%i, %j)[%N] { } else { }
      affine.if affine_set<() : (1 == 0)>() { }
      %r = affine.if #set(%i, %j)[%N] -> f32 { affine.yield %f : f32 } else { affine.yield %f : f32 }
      %p = affine.apply #map(%i)[%N]
      %q = affine.apply affine_map<(d0, d1) -> (d0 - d1 * 4)>(%i, %j)
      %m = affine.min affine_map<(d0)[s0] -> (d0, s0 - 3)>(%i)[%N]
      %n = affine.max #map(%q)[%c1]
    }
  }
  %s, %t = affine.for %i = 0 to 10 iter_args(%a = %f, %b = %N) -> (f32, index) {
    affine.yield %a, %b : f32, index
  } {tag}
  %u = affine.parallel (%i, %j) = (0, %N) to (10, 20) step (1, 2) reduce ("addf") -> (f32) {
    affine.yield %f : f32
  }
  affine.parallel (%i) = (max(0, %N)) to (min(%N + 10, 50, symbol(%N))) { affine.yield } {x}
  affine.parallel () = () to () { }
  affine.parallel (%i, %j) = (0, 0) to (%N * 2, symbol(%N)) { 
    affine.parallel (%k) = (%i) to (%i + 4) { }
  }
  return %s : f32
}

func.func @delinearize(%i: index, %b0: index, %b1: index) {
  %1:3 = affine.delinearize_index %i into (16, 224, 224) : index, index, index
  %2:3 = affine.delinearize_index %i into (244, 244) : index, index, index
  %3:2 = affine.delinearize_index %i into (%b0, %b1) : index, index
  %4:3 = affine.delinearize_index %i into (%b0, 8, %b1) : index, index, index
  %5 = affine.linearize_index [%i, %b0, %b1] by (2, 3, 5) : index
  %6 = affine.linearize_index disjoint [%i, %b0, %b1] by (3, %b1) : index
  %7 = affine.linearize_index [%i] by () : index
  return
}

func.func @transfers(%A: memref<40x128xf32>, %B: memref<2x1024xf32, 2>, %t: memref<1xi32>, %n: index) {
  affine.for %i = 0 to 10 {
    affine.dma_start %A[%i + 3, %i], %B[0, %i * 2], %t[0], %n : memref<40x128xf32>, memref<2x1024xf32, 2>, memref<1xi32>
    affine.dma_start %A[%i, %i], %B[%i, %i], %t[%i mod 2], %n, %n, %n : memref<40x128xf32>, memref<2x1024xf32, 2>, memref<1xi32>
    affine.dma_wait %t[%i mod 2], %n : memref<1xi32>
  }
  return
}

func.func @structured(%lb : index, %ub : index, %s : index, %b : i1, %f : f32, %i32 : i32) -> (f32, i32) {
  scf.for %i = %lb to %ub step %s { } {x = 1}
  %r = scf.for %i = %i32 to %i32 step %i32 iter_args(%a = %f) -> (f32) : i32 { scf.yield %a : f32 }
  scf.for unsigned %i = %i32 to %i32 step %i32 : i32 { }
  scf.if %b { } else { }
  %q:2 = scf.if %b -> (f32, i32) { scf.yield %f, %i32 : f32, i32 } else { scf.yield %f, %i32 : f32, i32 } {z}
  %w:2 = scf.while (%x = %f, %y = %i32) : (f32, i32) -> (f32, i32) {
    scf.condition(%b) %x, %y : f32, i32
  } do {
  ^bb0(%x: f32, %y: i32):
    scf.yield %x, %y : f32, i32
  } attributes {foo = 1}
  scf.while : () -> () { scf.condition(%b) } do { scf.yield }
  scf.parallel (%i, %j) = (%lb, %lb) to (%ub, %ub) step (%s, %s) { scf.reduce } {m}
  %p:2 = scf.parallel (%i) = (%lb) to (%ub) step (%s) init (%f, %f) -> (f32, f32) {
    scf.reduce(%f, %f : f32, f32) {
    ^bb0(%l: f32, %rr: f32):
      %sum = arith.addf %l, %rr : f32
      scf.reduce.return %sum : f32
    }, {
    ^bb0(%l: f32, %rr: f32):
      scf.reduce.return %l : f32
    }
  }
  %e = scf.execute_region -> f32 { scf.yield %f : f32 }
  scf.execute_region { cf.br ^a
  ^a:
    scf.yield }
  scf.execute_region no_inline { scf.yield }
  %sw = scf.index_switch %lb -> f32
  case 2 { scf.yield %f : f32 }
  case -5 { scf.yield %f : f32 }
  default { scf.yield %f : f32 }
  scf.index_switch %lb default { }
  return %r, %i32 : f32, i32
}

func.func @forall(%t: tensor<100xf32>, %n: index) -> tensor<100xf32> {
  %r = scf.forall (%i) in (%n) shared_outs(%o = %t) -> (tensor<100xf32>) {
    %s = tensor.extract_slice %o[%i] [1] [1] : tensor<100xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<100xf32>
    }
  }
  scf.forall (%i, %j) in (10, %n) { } {mapping = [#gpu.block<x>, #gpu.thread<y>]}
  scf.forall (%i) = (0) to (%n) step (2) { }
  scf.forall (%i, %j) = (%n, 1) to (10, 20) step (%n, 3) shared_outs(%o = %t) -> (tensor<100xf32>) { }
  return %r : tensor<100xf32>
}

func.func @branches(%c: i1, %i: i32, %f: f32) -> i32 {
  cf.cond_br %c weights([90, 10]), ^a, ^b(%i : i32)
^a:
  cf.br ^b(%i : i32)
^b(%x: i32):
  cf.assert %c, "x\0A"
  cf.switch %x : i32, [
    default: ^c,
    42: ^b(%x : i32),
    -3: ^c
  ]
^c:
  %k = call @h(%x, %f) {a} : (i32, f32) -> i32
  %fn = constant @h : (i32, f32) -> i32
  %fn2 = func.constant @h : (i32, f32) -> i32
  %l = call_indirect %fn(%x, %f) : (i32, f32) -> i32
  return %l : i32
}
func.func private @h(%a: i32, %b: f32) -> (i32 {x.y = 1}) attributes {z.w = "s"}
func.func private @noresult()
func.func private @fnresult() -> (() -> i32)
func.func private @two() -> (i32, f32)

func.func @arithmetic(%i: i32, %j: i32, %f: f32, %x: index, %v: vector<4xi32>, %t: tensor<4xf32>, %c: i1, %cv: vector<4xi1>, %d: f64, %h: f16, %i8 : i8) {
  %0 = arith.addi %i, %j overflow<nsw> : i32
  %1 = arith.addi %i, %j overflow<nsw, nuw> : i32
  %2 = arith.subi %v, %v : vector<4xi32>
  %3 = arith.addf %f, %f fastmath<fast> : f32
  %4 = arith.mulf %t, %t fastmath<nnan,contract> : tensor<4xf32>
  %5 = arith.cmpi slt, %i, %j : i32
  %6 = arith.cmpf ueq, %f, %f fastmath<nnan> : f32
  %7 = arith.select %c, %i, %j : i32
  %8 = arith.select %cv, %v, %v : vector<4xi1>, vector<4xi32>
  %9 = arith.select %c, %v, %v : vector<4xi32>
  %10 = arith.extsi %i : i32 to i64
  %11 = arith.extui %v : vector<4xi32> to vector<4xi64>
  %12 = arith.trunci %i : i32 to i8
  %13 = arith.trunci %i overflow<nsw> : i32 to i8
  %14 = arith.extf %f : f32 to f64
  %15 = arith.truncf %d : f64 to f32
  %16 = arith.truncf %d to_nearest_even : f64 to f32
  %17 = arith.index_cast %x : index to i32
  %18 = arith.index_castui %i : i32 to index
  %19 = arith.bitcast %f : f32 to i32
  %20, %21 = arith.addui_extended %i, %j : i32, i1
  %22, %23 = arith.mulsi_extended %i, %j : i32
  %24, %25 = arith.mului_extended %i, %j : i32
  %26 = arith.ceildivsi %i, %j : i32
  %27 = arith.ceildivui %i, %j : i32
  %28 = arith.floordivsi %i, %j : i32
  %29 = arith.divsi %i, %j : i32
  %30 = arith.divui %i, %j exact : i32
  %31 = arith.remsi %i, %j : i32
  %32 = arith.shli %i, %j overflow<nuw> : i32
  %33 = arith.shrsi %i, %j exact : i32
  %34 = arith.maximumf %f, %f : f32
  %35 = arith.maxnumf %f, %f : f32
  %36 = arith.minnumf %f, %f : f32
  %37 = arith.maxsi %i, %j : i32
  %38 = arith.minui %i, %j : i32
  %39 = arith.negf %f : f32
  %40 = arith.remf %f, %f : f32
  %41 = arith.uitofp %i : i32 to f32
  %42 = arith.uitofp %i nneg : i32 to f32
  %43 = arith.extui %i nneg : i32 to i64
  %44 = arith.fptoui %f : f32 to i32
  %45 = arith.constant dense<[true, false]> : vector<2xi1>
  %46 = arith.constant 1.0e-10 : bf16
  %47 = arith.constant dense<1> : tensor<4xi4>
  %48 = arith.constant 0x7F800000 : f32
  %49 = arith.constant -0.0 : f16
  %50 = arith.scaling_extf %h, %h : f16, f16 to f32
  %51 = arith.andi %c, %c : i1
  %52 = arith.cmpi eq, %v, %v : vector<4xi32>
  %53 = arith.sitofp %v : vector<4xi32> to vector<4xf32>
  %54 = arith.divf %f, %f : f32
  %55 = arith.index_cast %v : vector<4xi32> to vector<4xindex>
  return
}

func.func @functions(%f: f32, %i: i32, %v: vector<4xf32>) {
  %0 = math.absf %f : f32
  %1 = math.absi %i : i32
  %2 = math.atan2 %f, %f : f32
  %3 = math.fma %v, %v, %v : vector<4xf32>
  %4 = math.powf %f, %f fastmath<fast> : f32
  %5 = math.fpowi %f, %i : f32, i32
  %6 = math.ipowi %i, %i : i32
  %7 = math.ctlz %i : i32
  %8 = math.cttz %i : i32
  %9 = math.ctpop %i : i32
  %10 = math.roundeven %f : f32
  %11 = math.trunc %f : f32
  %12 = math.copysign %f, %f : f32
  %13 = math.cbrt %f : f32
  %14 = math.erf %f : f32
  %15 = math.erfc %f : f32
  %16 = math.isfinite %f : f32
  %17 = math.isnan %f : f32
  %18 = math.isinf %v : vector<4xf32>
  %19 = math.isnormal %f : f32
  %20 = math.clampf %f to [%f, %f] : f32
  %21 = math.acos %f : f32
  %22 = math.acosh %f : f32
  %23 = math.asin %f : f32
  %24 = math.asinh %f : f32
  %25 = math.atan %f : f32
  %26 = math.atanh %f : f32
  %27 = math.ceil %f : f32
  %28 = math.cos %f : f32
  %29 = math.cosh %f : f32
  %30 = math.exp %f : f32
  %31 = math.exp2 %f : f32
  %32 = math.expm1 %f : f32
  %33 = math.floor %f : f32
  %34 = math.log %f : f32
  %35 = math.log10 %f : f32
  %36 = math.log1p %f : f32
  %37 = math.log2 %f : f32
  %38 = math.rsqrt %f : f32
  %39 = math.sin %f : f32
  %40 = math.sinh %f : f32
  %41 = math.sqrt %f : f32
  %42 = math.tan %f : f32
  %43 = math.tanh %f : f32
  %44 = math.round %f : f32
  %45, %46 = math.sincos %f : f32
  return
}

func.func @index_values(%a: index, %b: index, %i: i32) {
  %0 = index.add %a, %b
  %1 = index.sub %a, %b
  %2 = index.mul %a, %b
  %3 = index.divs %a, %b
  %4 = index.divu %a, %b
  %5 = index.ceildivs %a, %b
  %6 = index.ceildivu %a, %b
  %7 = index.floordivs %a, %b
  %8 = index.rems %a, %b
  %9 = index.remu %a, %b
  %10 = index.maxs %a, %b
  %11 = index.maxu %a, %b
  %12 = index.mins %a, %b
  %13 = index.minu %a, %b
  %14 = index.shl %a, %b
  %15 = index.shrs %a, %b
  %16 = index.shru %a, %b
  %17 = index.and %a, %b
  %18 = index.or %a, %b
  %19 = index.xor %a, %b
  %20 = index.casts %a : index to i64
  %21 = index.castu %i : i32 to index
  %22 = index.cmp slt(%a, %b)
  %23 = index.sizeof
  %24 = index.constant -42
  %25 = index.bool.constant true
  return
}

func.func @complex_values(%a: complex<f32>, %f: f32) {
  %0 = complex.create %f, %f : complex<f32>
  %1 = complex.re %a : complex<f32>
  %2 = complex.im %a : complex<f32>
  %3 = complex.add %a, %a : complex<f32>
  %4 = complex.mul %a, %a fastmath<fast> : complex<f32>
  %5 = complex.abs %a : complex<f32>
  %6 = complex.eq %a, %a : complex<f32>
  %7 = complex.neq %a, %a : complex<f32>
  %8 = complex.constant [1.0 : f32, -1.0 : f32] : complex<f32>
  %9 = complex.exp %a : complex<f32>
  %10 = complex.atan2 %a, %a : complex<f32>
  %11 = complex.bitcast %a : complex<f32> to i64
  %12 = complex.angle %a : complex<f32>
  %13 = complex.conj %a : complex<f32>
  %14 = complex.pow %a, %a : complex<f32>
  %15 = complex.sub %a, %a : complex<f32>
  %16 = complex.div %a, %a : complex<f32>
  %17 = complex.sign %a : complex<f32>
  %18 = complex.sqrt %a : complex<f32>
  %19 = complex.rsqrt %a : complex<f32>
  %20 = complex.tan %a : complex<f32>
  %21 = complex.tanh %a : complex<f32>
  %22 = complex.neg %a : complex<f32>
  %23 = complex.log %a : complex<f32>
  %24 = complex.log1p %a : complex<f32>
  %25 = complex.expm1 %a : complex<f32>
  %26 = complex.sin %a : complex<f32>
  %27 = complex.cos %a : complex<f32>
  return
}

func.func @undefined(%a : i32) {
  %0 = ub.poison : i32
  %1 = ub.poison <#ub.poison> : vector<4xf32>
  %2 = builtin.unrealized_conversion_cast to i64
  %3:2 = builtin.unrealized_conversion_cast %a : i32 to i64, f32
  %4 = builtin.unrealized_conversion_cast %a, %a : i32, i32 to !foo.bar {x = 1}
  %5 = "builtin.unrealized_conversion_cast"(%a) : (i32) -> f32
  ub.unreachable
}
