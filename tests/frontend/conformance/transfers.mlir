// ----- R109 R110 D1 V
func.func @f(%src: memref<4xf32>, %dst: memref<4xf32>, %seen: memref<4xf32>) {
  %z = arith.constant 0 : index
  %n = arith.constant 4 : index
  %tag = memref.alloc() : memref<1xi32>
  affine.for %once = 0 to 1 {
    memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<4xf32>, memref<4xf32>, memref<1xi32>
    affine.for %i = 0 to 4 {
      %v = affine.load %dst[%i] : memref<4xf32>
      affine.store %v, %seen[%i] : memref<4xf32>
    }
    memref.dma_wait %tag[%z], %n : memref<1xi32>
  }
  return
}
//= fails("TransferOvertaken", f, zeros(4), zeros(4), zeros(4))
// ----- D1 V
func.func @f(%src: memref<4xf32>, %dst: memref<4xf32>, %x: f32) {
  %z = arith.constant 0 : index
  %n = arith.constant 4 : index
  %tag = memref.alloc() : memref<1xi32>
  affine.for %once = 0 to 1 {
    memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<4xf32>, memref<4xf32>, memref<1xi32>
    affine.for %i = 0 to 4 {
      affine.store %x, %src[%i] : memref<4xf32>
    }
    memref.dma_wait %tag[%z], %n : memref<1xi32>
  }
  return
}
//= fails("TransferOvertaken", f, zeros(4), zeros(4), 1.0)
// ----- R109 R110 D1 A
func.func @f(%src: memref<64xf32>, %dst: memref<64xf32>) {
  %n = arith.constant 16 : index
  %z = arith.constant 0 : index
  affine.for %b = 0 to 4 {
    %buf = memref.alloc() : memref<16xf32, 2>
    %tag = memref.alloc() : memref<1xi32>
    affine.dma_start %src[%b * 16], %buf[%z], %tag[%z], %n : memref<64xf32>, memref<16xf32, 2>, memref<1xi32>
    affine.dma_wait %tag[%z], %n : memref<1xi32>
    affine.for %i = 0 to 16 {
      %v = affine.load %buf[%i] : memref<16xf32, 2>
      affine.store %v, %dst[%b * 16 + %i] : memref<64xf32>
    }
  }
  affine.for %c = 0 to 3 {
    %buf = memref.alloc() : memref<16xf32, 2>
    %tag = memref.alloc() : memref<1xi32>
    affine.dma_start %src[%c * 16], %buf[%z], %tag[%z], %n : memref<64xf32>, memref<16xf32, 2>, memref<1xi32>
    affine.dma_wait %tag[%z], %n : memref<1xi32>
    affine.for %j = 0 to 16 {
      %v = affine.load %buf[%j] : memref<16xf32, 2>
      affine.store %v, %src[%c * 16 + %j + 16] : memref<64xf32>
    }
  }
  return
}
//= loops("f").startswith("b parallel") and "c sequential" in loops("f")
// ----- D2 X
func.func @f(%src: memref<16xf32>, %dst: memref<16xf32>) {
  %z = arith.constant 0 : index
  %n = arith.constant 6 : index
  %stride = arith.constant 4 : index
  %each = arith.constant 2 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%z], %dst[%z], %n, %tag[%z], %stride, %each : memref<16xf32>, memref<16xf32>, memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
//= after(f, numbers(16), zeros(16))[:6] == numbers(16)[[0, 1, 4, 5, 8, 9]]
// ----- D2 X
func.func @f(%src: memref<4xvector<2xf32>>, %dst: memref<4xvector<2xf32>>) {
  %z = arith.constant 0 : index
  %n = arith.constant 3 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<4xvector<2xf32>>, memref<4xvector<2xf32>>, memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
//= after(f, numbers(4, 2), zeros(4, 2))[:3] == numbers(4, 2)[:3]
//= fails("WrongExtent", f, numbers(4, 3), zeros(4, 2))
//= fails("WrongArgumentRank", f, numbers(8), zeros(4, 2))
// ----- D3 X
func.func @f(%src: memref<4x5xf32>, %dst: memref<20xf32>) {
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %n = arith.constant 7 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%one, %three], %dst[%one], %n, %tag[%z] : memref<4x5xf32>, memref<20xf32>, memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
//= after(f, numbers(4, 5), zeros(20))[1:8] == numbers(4, 5).ravel()[8:15]
// ----- D3 V TypesDiffer
func.func @f(%src: memref<4xf32>, %dst: memref<4xf64>, %n: index) {
  %z = arith.constant 0 : index
  %tag = memref.alloc() : memref<1xi32>
  §memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<4xf32>, memref<4xf64>, memref<1xi32>
  return
}
// ----- D3 V
func.func @f(%src: memref<4xf32>, %dst: memref<8xf32>) {
  %z = arith.constant 0 : index
  %n = arith.constant 5 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<4xf32>, memref<8xf32>, memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
//= fails("OutOfBounds", f, zeros(4), zeros(8))
// ----- D4 V
func.func @f(%src: memref<8xf32>, %dst: memref<8xf32>) {
  %z = arith.constant 0 : index
  %n = arith.constant 4 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<8xf32>, memref<8xf32>, memref<1xi32>
  memref.dma_start %src[%n], %dst[%n], %n, %tag[%z] : memref<8xf32>, memref<8xf32>, memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
//= fails("TransferOvertaken", f, zeros(8), zeros(8))
// ----- D5 V
func.func @f(%src: memref<8xf32>, %dst: memref<8xf32>) {
  %z = arith.constant 0 : index
  %n = arith.constant 4 : index
  %m = arith.constant 3 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<8xf32>, memref<8xf32>, memref<1xi32>
  memref.dma_wait %tag[%z], %m : memref<1xi32>
  return
}
//= fails("UnpairedTransfer", f, zeros(8), zeros(8))
// ----- D6 V
func.func @f(%src: memref<8xf32>, %dst: memref<8xf32>) {
  %z = arith.constant 0 : index
  %n = arith.constant 4 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<8xf32>, memref<8xf32>, memref<1xi32>
  return
}
//= fails("UnpairedTransfer", f, zeros(8), zeros(8))
// ----- D6 V
func.func @f() {
  %z = arith.constant 0 : index
  %n = arith.constant 4 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
//= fails("UnpairedTransfer", f)
// ----- D7 V
func.func @f(%src: memref<64xf32>, %dst: memref<64xf32>) {
  %n = arith.constant 16 : index
  %z = arith.constant 0 : index
  %tag = memref.alloc() : memref<2xi32>
  affine.for %b = 0 to 4 {
    affine.dma_start %src[%b * 16], %dst[%b * 16], %tag[%b mod 2], %n : memref<64xf32>, memref<64xf32>, memref<2xi32>
    affine.dma_wait %tag[(%b + 1) mod 2], %n : memref<2xi32>
  }
  return
}
//= fails("UnpairedTransfer", f, zeros(64), zeros(64))
// ----- D7 A
func.func @f(%src: memref<64xf32>, %dst: memref<64xf32>) {
  %n = arith.constant 16 : index
  %z = arith.constant 0 : index
  %tag = memref.alloc() : memref<2xi32>
  affine.for %b = 0 to 4 {
    affine.dma_start %src[%b * 16], %dst[%b * 16], %tag[%b mod 2], %n : memref<64xf32>, memref<64xf32>, memref<2xi32>
    affine.dma_wait %tag[%b mod 2], %n : memref<2xi32>
  }
  return
}
//= after(f, numbers(64), zeros(64)) == numbers(64)
// ----- D8 X
func.func @f(%n: index, %src: memref<8xf32>, %dst: memref<8xf32>) {
  %z = arith.constant 0 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%z], %dst[%z], %n, %tag[%z] : memref<8xf32>, memref<8xf32>, memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
//= after(f, 0, numbers(8), zeros(8)) == 0
// ----- D8 V
func.func @f(%A: memref<8xf32>) {
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 4 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %A[%z], %A[%one], %n, %tag[%z] : memref<8xf32>, memref<8xf32>, memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
//= fails("TransferOvertaken", f, zeros(8))
// ----- D9 D11 D12 X
func.func @f(%src: memref<64xf32>, %dst: memref<64xf32>) {
  %n = arith.constant 16 : index
  %z = arith.constant 0 : index
  affine.for %b = 0 to 4 {
    %buf = memref.alloc() : memref<16xf32, 2>
    %tag = memref.alloc() : memref<1xi32>
    affine.dma_start %src[%b * 16], %buf[%z], %tag[%z], %n : memref<64xf32>, memref<16xf32, 2>, memref<1xi32>
    affine.dma_wait %tag[%z], %n : memref<1xi32>
    affine.dma_start %buf[%z], %dst[%b * 16], %tag[%z], %n : memref<16xf32, 2>, memref<64xf32>, memref<1xi32>
    affine.dma_wait %tag[%z], %n : memref<1xi32>
  }
  return
}
//= after(f, numbers(64), zeros(64)) == numbers(64)
// ----- D13 P
"t.t"() {t = [memref<4xf32, 1>, memref<4xf32, #gpu.address_space<workgroup>>, memref<4xf32, "hbm">,
              memref<4xf32, 5>, memref<4xf32, "vmem">]} : () -> ()
// ----- D13 V
func.func @f(%A: memref<4xf32>) {
  affine.for %b = 0 to 4 {
    %t = memref.alloc() : memref<4xf32, "moon">
    %0 = affine.load %A[%b] : memref<4xf32>
    affine.store %0, %t[%b] : memref<4xf32, "moon">
    %1 = affine.load %t[%b] : memref<4xf32, "moon">
    affine.store %1, %A[%b] : memref<4xf32>
  }
  return
}
//= fails("UnsupportedMemorySpace", f, zeros(4))
// ----- D13 X
func.func @f(%A: memref<8xf32, "hbm">) {
  affine.for %b = 0 to 2 {
    %t = memref.alloc() : memref<4xf32, "vmem">
    affine.for %i = 0 to 4 {
      %0 = affine.load %A[%b * 4 + %i] : memref<8xf32, "hbm">
      affine.store %0, %t[-%i + 3] : memref<4xf32, "vmem">
    }
    affine.for %j = 0 to 4 {
      %1 = affine.load %t[%j] : memref<4xf32, "vmem">
      affine.store %1, %A[%b * 4 + %j] : memref<8xf32, "hbm">
    }
  }
  return
}
//= after(f, numbers(8)) == numbers(2, 4)[:, ::-1].ravel()
