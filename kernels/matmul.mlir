!element = f32
#zero = 0.0 : f32

func.func @matmul(%A: memref<?x?x!element>, %B: memref<?x?x!element>,
                  %C: memref<?x?x!element>) {
  %zero = arith.constant #zero
  linalg.fill ins(%zero : !element) outs(%C : memref<?x?x!element>)
  linalg.matmul ins(%A, %B : memref<?x?x!element>, memref<?x?x!element>)
                outs(%C : memref<?x?x!element>)
  return
}
