// Branches with results, swapped carried values, a while loop, min and max bounds.
#inside = affine_set<(d0)[s0] : (d0 - 2 >= 0, s0 - d0 - 3 >= 0)>
func.func private @control_k0(%x: memref<?xi32>, %y: memref<?xi32>) attributes {gcg.kernel = "cpu"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %hundred = arith.constant 100 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xi32>
    %fib:2 = affine.for %k = 0 to affine_map<(d0) -> (d0 mod 10)>(%i) iter_args(%a = %zero, %b = %one) -> (i32, i32) {
      %s = arith.addi %a, %b : i32
      affine.yield %b, %s : i32, i32
    }
    %chosen = affine.if #inside(%i)[%n] -> i32 {
      %t = arith.muli %v, %fib#0 : i32
      affine.yield %t : i32
    } else {
      affine.yield %v : i32
    }
    %small = scf.while (%w = %chosen) : (i32) -> i32 {
      %big = arith.cmpi sgt, %w, %hundred : i32
      scf.condition(%big) %w : i32
    } do {
    ^bb0(%w: i32):
      %h = arith.shrsi %w, %one : i32
      scf.yield %h : i32
    }
    affine.store %small, %y[%i] : memref<?xi32>
    affine.for %j = max affine_map<(d0) -> (0, d0 - 3)>(%i) to min affine_map<(d0)[s0] -> (d0, s0 - 1)>(%i)[%n] step 2 {
      %p = affine.load %y[%j] : memref<?xi32>
      %q = affine.load %y[%i] : memref<?xi32>
      %r = arith.xori %p, %q : i32
      affine.store %r, %y[%i] : memref<?xi32>
    }
  }
  return
}
func.func @control(%x: memref<?xi32>, %y: memref<?xi32>) {
  call @control_k0(%x, %y) : (memref<?xi32>, memref<?xi32>) -> ()
  return
}
