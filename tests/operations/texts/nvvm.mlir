// ----- nvvm.read.ptx.sreg.tid.x nvvm.read.ptx.sreg.tid.y nvvm.read.ptx.sreg.tid.z nvvm.read.ptx.sreg.ntid.x nvvm.read.ptx.sreg.ntid.y nvvm.read.ptx.sreg.ntid.z nvvm.read.ptx.sreg.ctaid.x nvvm.read.ptx.sreg.ctaid.y nvvm.read.ptx.sreg.ctaid.z nvvm.read.ptx.sreg.nctaid.x nvvm.read.ptx.sreg.nctaid.y nvvm.read.ptx.sreg.nctaid.z nvvm.read.ptx.sreg.laneid nvvm.read.ptx.sreg.warpid nvvm.read.ptx.sreg.nwarpid nvvm.read.ptx.sreg.warpsize
(%a: memref<64xi32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %i = $op : i32
  memref.store %i, %a[%at] : memref<64xi32>
  gpu.terminator
}

// ----- nvvm.barrier0 nvvm.barrier
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %x = memref.load %a[%at] : memref<64xf32>
  $op
  memref.store %x, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- nvvm.bar.warp.sync
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %mask = arith.constant -1 : i32
  %x = memref.load %a[%at] : memref<64xf32>
  nvvm.bar.warp.sync %mask : i32
  memref.store %x, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- nvvm.shfl.sync
(%a: memref<64xf32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %mask = arith.constant -1 : i32
  %by1 = arith.constant 1 : i32
  %clamp = arith.constant 31 : i32
  %x = memref.load %a[%at] : memref<64xf32>
  %y = nvvm.shfl.sync bfly %mask, %x, %by1, %clamp : f32 -> f32
  memref.store %y, %a[%at] : memref<64xf32>
  gpu.terminator
}

// ----- nvvm.vote.sync
(%a: memref<64xi32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %mask = arith.constant -1 : i32
  %three = arith.constant 3 : index
  %p = arith.cmpi ult, %tx, %three : index
  %y = nvvm.vote.sync ballot %mask, %p -> i32
  memref.store %y, %a[%at] : memref<64xi32>
  gpu.terminator
}

// ----- nvvm.vote.ballot.sync
(%a: memref<64xi32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %mask = arith.constant -1 : i32
  %three = arith.constant 3 : index
  %p = arith.cmpi ult, %tx, %three : index
  %y = nvvm.vote.ballot.sync %mask, %p : i32
  memref.store %y, %a[%at] : memref<64xi32>
  gpu.terminator
}

// ----- nvvm.redux.sync
(%a: memref<64xi32>)
%one = arith.constant 1 : index
%n = arith.constant 32 : index
%two = arith.constant 2 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %two, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  %base = arith.muli %bx, %n : index
  %at = arith.addi %base, %tx : index
  %mask = arith.constant -1 : i32
  %x = memref.load %a[%at] : memref<64xi32>
  %y = nvvm.redux.sync umax %x, %mask : i32 -> i32
  memref.store %y, %a[%at] : memref<64xi32>
  gpu.terminator
}

// ----- nvvm.cp.async.bulk.commit.group nvvm.cp.async.bulk.wait_group nvvm.fence.proxy nvvm.fence.mbarrier.init nvvm.setmaxregister nvvm.wgmma.wait.group.sync.aligned
(%a: memref<128xf32>)
%one = arith.constant 1 : index
%n = arith.constant 128 : index
gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one) threads(%tx, %ty, %tz) in (%ex = %n, %ey = %one, %ez = %one) {
  nvvm.setmaxregister decrease 40
  %x = memref.load %a[%tx] : memref<128xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %a[%tx] : memref<128xf32>
  nvvm.fence.mbarrier.init
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {read}
  nvvm.wgmma.wait.group.sync.aligned 0
  gpu.terminator
}
