// RUN: gpucodegen opt %s -p hoist-index-values,raise-to-affine | filecheck %s

// A bound that is cast inside of a loop moves out, and the variable's sum does not wrap:
// i < n <= 2^31 - 1.
// CHECK-LABEL: func.func @triangle(
// CHECK: %[[N:.*]] = arith.index_cast %n : i32 to index
// CHECK: affine.for %i = 0 to {{.*}}(%[[N]]) {
// CHECK: affine.for %j = 0 to affine_map<(d0) -> (d0 + 1)>(%i) {
// CHECK: affine.store %f, %A[%i, %j]
// CHECK: affine.for %k = affine_map<(d0) -> (d0 + 1)>(%i) to {{.*}}(%[[N]]) {
// CHECK: affine.store %f, %A[%k, %i]
func.func @triangle(%n: i32, %A: memref<?x?xf32>, %f: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %i1 = arith.constant 1 : i32
  %end = arith.index_cast %n : i32 to index
  scf.for %i = %zero to %end step %one {
    %number = arith.index_cast %i : index to i32
    %next = arith.addi %number, %i1 : i32
    %after = arith.index_cast %next : i32 to index
    scf.for %j = %zero to %after step %one {
      memref.store %f, %A[%i, %j] : memref<?x?xf32>
    }
    %last = arith.index_cast %n : i32 to index
    scf.for %k = %after to %last step %one {
      memref.store %f, %A[%k, %i] : memref<?x?xf32>
    }
  }
  return
}

// Twice a variable may wrap around in 32 bits, and a value that a loop loads stays.
// CHECK-LABEL: func.func @wraps(
// CHECK: affine.for %i
// CHECK: memref.store %f, %x[%twice]
// CHECK: %loaded = affine.load
// CHECK: arith.index_cast %loaded
// CHECK: scf.for %j
func.func @wraps(%n: i32, %x: memref<?xf32>, %counts: memref<?xi32>, %f: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %i2 = arith.constant 2 : i32
  %end = arith.index_cast %n : i32 to index
  scf.for %i = %zero to %end step %one {
    %number = arith.index_cast %i : index to i32
    %double = arith.muli %number, %i2 : i32
    %twice = arith.index_cast %double : i32 to index
    memref.store %f, %x[%twice] : memref<?xf32>
    %loaded = memref.load %counts[%i] : memref<?xi32>
    %count = arith.index_cast %loaded : i32 to index
    scf.for %j = %zero to %count step %one {
      memref.store %f, %x[%j] : memref<?xf32>
    }
  }
  return
}

// Before a loop without iterations nothing may fail: a division stays.
// CHECK-LABEL: func.func @divides(
// CHECK: affine.for %i
// CHECK: arith.divsi
// CHECK: arith.index_cast
func.func @divides(%n: i32, %d: i32, %x: memref<?xf32>, %f: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.index_cast %n : i32 to index
  scf.for %i = %zero to %end step %one {
    %part = arith.divsi %n, %d : i32
    %last = arith.index_cast %part : i32 to index
    scf.for %j = %zero to %last step %one {
      memref.store %f, %x[%j] : memref<?xf32>
    }
  }
  return
}
