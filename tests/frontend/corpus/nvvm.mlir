// Operations of nvvm that MLIR texts name in kernels.
func.func @registers() -> (i32, index) {
  %0 = nvvm.read.ptx.sreg.tid.x : i32
  %1 = nvvm.read.ptx.sreg.tid.y : i32
  %2 = nvvm.read.ptx.sreg.tid.z : i32
  %3 = nvvm.read.ptx.sreg.ntid.x : i32
  %4 = nvvm.read.ptx.sreg.ntid.y : i32
  %5 = nvvm.read.ptx.sreg.ntid.z : i32
  %6 = nvvm.read.ptx.sreg.ctaid.x : i32
  %7 = nvvm.read.ptx.sreg.ctaid.y : i32
  %8 = nvvm.read.ptx.sreg.ctaid.z : i32
  %9 = nvvm.read.ptx.sreg.nctaid.x : i32
  %10 = nvvm.read.ptx.sreg.nctaid.y : i32
  %11 = nvvm.read.ptx.sreg.nctaid.z : i32
  %12 = nvvm.read.ptx.sreg.laneid : i32
  %13 = nvvm.read.ptx.sreg.warpid : i32
  %14 = nvvm.read.ptx.sreg.nwarpid : i32
  %15 = nvvm.read.ptx.sreg.warpsize : i64
  %16 = arith.index_cast %15 : i64 to index
  return %0, %16 : i32, index
}

func.func @exchange(%mask: i32, %value: f32, %by: i32, %holds: i1) {
  nvvm.barrier0
  nvvm.barrier
  nvvm.barrier id = %by
  nvvm.barrier id = %by number_of_threads = %mask
  nvvm.bar.warp.sync %mask : i32
  %0 = nvvm.shfl.sync bfly %mask, %value, %by, %by : f32 -> f32
  %1 = nvvm.shfl.sync up %mask, %by, %by, %by : i32 -> i32
  %2 = nvvm.vote.sync any %mask, %holds -> i1
  %3 = nvvm.vote.sync ballot %mask, %holds -> i32
  %4 = nvvm.vote.ballot.sync %mask, %holds : i32
  %5 = nvvm.redux.sync umax %by, %mask : i32 -> i32
  return
}
