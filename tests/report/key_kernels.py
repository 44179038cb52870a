"""Kernels whose figures are held: each may only get better.

``FIGURES`` is the one table; later work lowers its numbers (and raises the shares).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpucodegen.report.gpu.model import KernelReport
from gpucodegen.report.gpu.report import report

ARCHITECTURE = "sm_90a"


def product(rows: int, columns: int, depth: int, element: str, result: str) -> str:
    left = f"memref<{rows}x{depth}x{element}>"
    right = f"memref<{depth}x{columns}x{element}>"
    sums = f"memref<{rows}x{columns}x{result}>"
    return f"""
func.func @f(%A: {left}, %B: {right}, %C: {sums}) {{
  linalg.matmul ins(%A, %B : {left}, {right}) outs(%C : {sums})
  return
}}"""


def elementwise(
    source: str,
    target: str,
    stored: str = "%i, %j",
    operation: str = "arith.maximumf %v, %zero : ",
) -> str:
    """An operation on each element of a matrix of 4096 x 4096."""
    given, made = (f"memref<4096x4096x{ty}>" for ty in (source, target))
    ending = "" if " to " in operation else source
    return f"""
func.func @f(%a: {given}, %b: {made}) {{
  %zero = arith.constant 0.0 : {source}
  affine.for %i = 0 to 4096 {{
    affine.for %j = 0 to 4096 {{
      %v = affine.load %a[%i, %j] : {given}
      %w = {operation}{ending}
      affine.store %w, %b[{stored}] : {made}
    }}
  }}
  return
}}"""


COPY = """
func.func @f(%a: memref<16777216xf32>, %b: memref<16777216xf32>) {
  affine.for %i = 0 to 16777216 {
    %v = affine.load %a[%i] : memref<16777216xf32>
    affine.store %v, %b[%i] : memref<16777216xf32>
  }
  return
}"""
AXPY = """
func.func @f(%s: f32, %x: memref<16777216xf32>, %y: memref<16777216xf32>) {
  affine.for %i = 0 to 16777216 {
    %0 = affine.load %x[%i] : memref<16777216xf32>
    %1 = affine.load %y[%i] : memref<16777216xf32>
    %2 = arith.mulf %0, %s : f32
    %3 = arith.addf %1, %2 : f32
    affine.store %3, %y[%i] : memref<16777216xf32>
  }
  return
}"""
CHAIN = """
func.func @f(%a: memref<4096x4096xf32>, %bias: memref<4096xf32>,
             %b: memref<4096x4096xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4096x4096xf32>
  affine.for %i = 0 to 4096 { affine.for %j = 0 to 4096 {
    %v = affine.load %a[%i, %j] : memref<4096x4096xf32>
    %q = affine.load %bias[%j] : memref<4096xf32>
    %w = arith.addf %v, %q : f32
    affine.store %w, %t[%i, %j] : memref<4096x4096xf32>
  } }
  affine.for %i = 0 to 4096 { affine.for %j = 0 to 4096 {
    %v = affine.load %t[%i, %j] : memref<4096x4096xf32>
    %w = arith.maximumf %v, %zero : f32
    affine.store %w, %b[%i, %j] : memref<4096x4096xf32>
  } }
  memref.dealloc %t : memref<4096x4096xf32>
  return
}"""
SUM = """
func.func @f(%a: memref<512x512xf32>, %s: memref<512xf32>) {
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %v = affine.load %a[LOAD] : memref<512x512xf32>
      %s0 = affine.load %s[%i] : memref<512xf32>
      %s1 = arith.addf %s0, %v : f32
      affine.store %s1, %s[%i] : memref<512xf32>
    }
  }
  return
}"""
JACOBI = """
func.func @f(%a: memref<514x514xf32>, %b: memref<514x514xf32>) {
  affine.for %i = 1 to 513 {
    affine.for %j = 1 to 513 {
      %c = affine.load %a[%i, %j] : memref<514x514xf32>
      %e = affine.load %a[%i, %j + 1] : memref<514x514xf32>
      %w = affine.load %a[%i, %j - 1] : memref<514x514xf32>
      %n = affine.load %a[%i - 1, %j] : memref<514x514xf32>
      %s = affine.load %a[%i + 1, %j] : memref<514x514xf32>
      %0 = arith.addf %c, %e : f32
      %1 = arith.addf %0, %w : f32
      %2 = arith.addf %1, %n : f32
      %3 = arith.addf %2, %s : f32
      affine.store %3, %b[%i, %j] : memref<514x514xf32>
    }
  }
  return
}"""
BATCH = """
func.func @f(%A: memref<8x64x64xf32>, %B: memref<8x64x64xf32>,
             %C: memref<8x64x64xf32>) {
  linalg.batch_matmul ins(%A, %B : memref<8x64x64xf32>, memref<8x64x64xf32>)
                      outs(%C : memref<8x64x64xf32>)
  return
}"""
MATVEC = """
func.func @f(%A: memref<512x512xf32>, %x: memref<512xf32>, %y: memref<512xf32>) {
  linalg.matvec ins(%A, %x : memref<512x512xf32>, memref<512xf32>)
                outs(%y : memref<512xf32>)
  return
}"""
SOFTMAX = """
func.func @f(%a: memref<1024x4096xf32>, %b: memref<1024x4096xf32>) {
  linalg.softmax dimension(1) ins(%a : memref<1024x4096xf32>)
                              outs(%b : memref<1024x4096xf32>)
  return
}"""
ARGMAX = """
func.func @f(%a: memref<4096x1024xf32>, %p: memref<4096xi32>) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i32
  affine.for %i = 0 to 4096 {
    %best:2 = affine.for %j = 0 to 1024
        iter_args(%b = %low, %q = %none) -> (f32, i32) {
      %x = affine.load %a[%i, %j] : memref<4096x1024xf32>
      %taken = arith.cmpf ogt, %x, %b : f32
      %k = arith.index_cast %j : index to i32
      %n = arith.select %taken, %x, %b : f32
      %m = arith.select %taken, %k, %q : i32
      affine.yield %n, %m : f32, i32
    }
    affine.store %best#1, %p[%i] : memref<4096xi32>
  }
  return
}"""


def free_sum(rows: int, columns: int, axes: str, kept: str) -> str:
    whole, rest = f"memref<{rows}x{columns}xf32>", f"memref<{kept}f32>"
    return f"""
func.func @f(%a: {whole}, %s: {rest}) {{
  linalg.reduce ins(%a : {whole}) outs(%s : {rest}) dimensions = [{axes}]
    (%x: f32, %y: f32) {{
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32 }}
  return
}}"""


CONVOLUTION = """
func.func @f(%I: memref<1x18x18x64xf32>, %F: memref<3x3x64x64xf32>,
             %O: memref<1x16x16x64xf32>) {
  linalg.conv_2d_nhwc_hwcf
    ins(%I, %F : memref<1x18x18x64xf32>, memref<3x3x64x64xf32>)
    outs(%O : memref<1x16x16x64xf32>)
  return
}"""

PROGRAMS = {
    "f32 128 x 128": product(1152, 1024, 64, "f32", "f32"),
    "f32 64 x 64": product(640, 512, 64, "f32", "f32"),
    "f32 32 x 32": product(128, 128, 64, "f32", "f32"),
    "f32 ragged": product(100, 50, 33, "f32", "f32"),
    "f64 128 x 128": product(1152, 1024, 64, "f64", "f64"),
    "batched": BATCH,
    "matvec": MATVEC,
    "convolution": CONVOLUTION,
    "relu": elementwise("f32", "f32"),
    "relu f16": elementwise("f16", "f16"),
    "f32 to f16": elementwise("f32", "f16", operation="arith.truncf %v : f32 to f16"),
    "transpose": elementwise("f32", "f32", "%j, %i"),
    "transpose f16": elementwise("f16", "f16", "%j, %i"),
    "copy": COPY,
    "axpy": AXPY,
    "bias and relu": CHAIN,
    "row sum": SUM.replace("LOAD", "%i, %j"),
    "column sum": SUM.replace("LOAD", "%j, %i"),
    "free row sum": free_sum(4096, 2048, "1", "4096x"),
    "free column sum": free_sum(2048, 8192, "0", "8192x"),
    "free full sum": free_sum(4096, 4096, "0, 1", ""),
    "softmax": SOFTMAX,
    "argmax": ARGMAX,
    "jacobi": JACOBI,
}


@cache
def reported(name: str) -> KernelReport:
    (function,) = report(PROGRAMS[name], arch=ARCHITECTURE).functions
    return max(function.kernels, key=lambda kernel: kernel.execution.instructions)


@dataclass(frozen=True)
class Figures:
    """Of the kernel of most instructions.

    ``instructions`` of an average warp; ``wavefronts`` and ``sectors`` of a warp's trip
    of the outermost loop, of the kernel where it has none; ``registers`` and
    ``arithmetic``, the share of the machine code's main loop, need the tools.
    """

    instructions: float
    wavefronts: float
    sectors: float
    registers: int
    arithmetic: float
