!element = f32
#zero = 0.0 : f32
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (k, n)>
#result = affine_map<(m, n, k) -> (m, n)>

func.func @matmul(%A: memref<?x?x!element>, %B: memref<?x?x!element>,
                  %C: memref<?x?x!element>) {
  %zero = arith.constant #zero
  linalg.fill ins(%zero : !element) outs(%C : memref<?x?x!element>)
  linalg.matmul indexing_maps = [#left, #right, #result]
                ins(%A, %B : memref<?x?x!element>, memref<?x?x!element>)
                outs(%C : memref<?x?x!element>)
  return
}
