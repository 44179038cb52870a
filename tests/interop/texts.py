"""Programs that several frameworks call."""

from __future__ import annotations

BLOCK = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
"""
INNER = """
  affine.for %i = 1 to affine_map<()[n] -> (n - 1)>()[%n] {
    affine.for %j = 1 to affine_map<()[n] -> (n - 1)>()[%m] {
"""
HEAT = f"""
func.func @heat(%a: memref<?x?xf32>, %k: f32, %b: memref<?x?xf32>) {{
{BLOCK}{INNER}
    %x = affine.load %a[%i, %j] : memref<?x?xf32>
    %u = affine.load %a[%i - 1, %j] : memref<?x?xf32>
    %d = affine.load %a[%i + 1, %j] : memref<?x?xf32>
    %l = affine.load %a[%i, %j - 1] : memref<?x?xf32>
    %r = affine.load %a[%i, %j + 1] : memref<?x?xf32>
    %s0 = arith.addf %u, %d : f32
    %s1 = arith.addf %l, %r : f32
    %s2 = arith.addf %s0, %s1 : f32
    %s3 = arith.mulf %s2, %k : f32
    %s4 = arith.addf %x, %s3 : f32
    affine.store %s4, %b[%i, %j] : memref<?x?xf32>
  }} }}
  return
}}
"""


def step(source: str, target: str, low: str, high: str) -> str:
    """Cells of one grid from two of another."""
    return f"""{INNER}
    %v = affine.load %{source}[{low}] : memref<?x?xf32>
    %w = affine.load %{source}[{high}] : memref<?x?xf32>
    %s = arith.addf %v, %w : f32
    %h = arith.mulf %s, %half : f32
    affine.store %h, %{target}[%i, %j] : memref<?x?xf32>
  }} }}
"""


THERE = step("a", "b", "%i - 1, %j", "%i, %j + 1")
BACK = step("b", "a", "%i - 1, %j", "%i, %j + 1")
GRIDS = f"""
{HEAT}
func.func @two_steps(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {{
  %half = arith.constant 0.5 : f32
{BLOCK}{THERE}{BACK}
  return
}}
func.func @many_steps(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %times: index) {{
  %half = arith.constant 0.5 : f32
{BLOCK}
  affine.for %t = 0 to %times {{
{THERE}{BACK}
  }}
  return
}}
func.func @in_place(%a: memref<?x?xf32>) {{
  %half = arith.constant 0.5 : f32
{BLOCK}{step("a", "a", "%i - 1, %j", "%i, %j + 1")}
  return
}}
func.func @prefix(%a: memref<?xf32>, %b: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?xf32>
  %r = affine.for %i = 0 to %n iter_args(%s = %z) -> f32 {{
    %v = affine.load %a[%i] : memref<?xf32>
    %t = arith.addf %s, %v : f32
    affine.store %t, %b[%i] : memref<?xf32>
    affine.yield %t : f32
  }}
  return
}}
func.func @every_other(%a: memref<?xf32>, %b: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  affine.for %i = 1 to %n step 2 {{
    %v = affine.load %a[%i - 1] : memref<?xf32>
    affine.store %v, %b[%i] : memref<?xf32>
  }}
  return
}}
func.func @first_of_row(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {{
{BLOCK}
  affine.for %i = 0 to %n {{
    %v = affine.load %a[%i, 0] : memref<?x?xf32>
    affine.for %j = 0 to %m {{
      affine.store %v, %b[%i, %j] : memref<?x?xf32>
    }}
  }}
  return
}}
func.func @where(%a: memref<?xf32>, %b: memref<?xf32>) {{
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {{
    %v = affine.load %a[0] : memref<?xf32>
    %c = arith.cmpf olt, %v, %z : f32
    scf.if %c {{
      affine.store %z, %b[%i] : memref<?xf32>
    }}
  }}
  return
}}
func.func @total(%a: memref<?x?xf32>) -> memref<1x1xf32> {{
{BLOCK}
  %z = arith.constant 0.0 : f32
  %o = memref.alloc() : memref<1x1xf32>
  affine.store %z, %o[0, 0] : memref<1x1xf32>
  affine.for %i = 0 to %n {{
    affine.for %j = 0 to %m {{
      %x = affine.load %a[%i, %j] : memref<?x?xf32>
      %s = affine.load %o[0, 0] : memref<1x1xf32>
      %t = arith.addf %x, %s : f32
      affine.store %t, %o[0, 0] : memref<1x1xf32>
    }}
  }}
  return %o : memref<1x1xf32>
}}
"""
VALUES = """
func.func @matmul(%A: tensor<?x?xf32>, %B: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %A, %c0 : tensor<?x?xf32>
  %m = tensor.dim %B, %c1 : tensor<?x?xf32>
  %new = tensor.empty(%n, %m) : tensor<?x?xf32>
  %from = linalg.fill ins(%zero : f32) outs(%new : tensor<?x?xf32>) -> tensor<?x?xf32>
  %C = linalg.matmul ins(%A, %B : tensor<?x?xf32>, tensor<?x?xf32>)
    outs(%from : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %C : tensor<?x?xf32>
}
func.func @conv(%image: tensor<6x8xf32>, %filter: tensor<3x3xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  %out = linalg.conv_2d ins(%image, %filter : tensor<6x8xf32>, tensor<3x3xf32>)
    outs(%zero : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %out : tensor<4x6xf32>
}
func.func @scale(%x: memref<?xf32>, %k: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = arith.mulf %v, %k : f32
    affine.store %w, %x[%i] : memref<?xf32>
  }
  return
}
func.func @halves(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xf32>, i32) {
  %y = arith.addf %x, %x : tensor<4xbf16>
  %z = arith.extf %x : tensor<4xbf16> to tensor<4xf32>
  %c = arith.constant 3 : i32
  return %y, %z, %c : tensor<4xbf16>, tensor<4xf32>, i32
}
func.func @unknown(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.empty(%n) : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
