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


ELEMENTWISE = """
func.func @f(%a: memref<512x512xf32>, %b: memref<512x512xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %v = affine.load %a[%i, %j] : memref<512x512xf32>
      %w = arith.maximumf %v, %zero : f32
      affine.store %w, %b[STORE] : memref<512x512xf32>
    }
  }
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
SIDE = 1024


def _half_step(source: str, target: str) -> str:
    ty = f"memref<{SIDE}x{SIDE}xf32>"
    return f"""
    affine.for %i = 1 to {SIDE - 1} {{
      affine.for %j = 1 to {SIDE - 1} {{
        %c = affine.load %{source}[%i, %j] : {ty}
        %e = affine.load %{source}[%i, %j + 1] : {ty}
        %w = affine.load %{source}[%i, %j - 1] : {ty}
        %n = affine.load %{source}[%i - 1, %j] : {ty}
        %s = affine.load %{source}[%i + 1, %j] : {ty}
        %0 = arith.addf %c, %e : f32
        %1 = arith.addf %0, %w : f32
        %2 = arith.addf %1, %n : f32
        %3 = arith.addf %2, %s : f32
        %4 = arith.mulf %3, %fifth : f32
        affine.store %4, %{target}[%i, %j] : {ty}
      }}
    }}"""


STEPS = f"""
func.func @f(%a: memref<{SIDE}x{SIDE}xf32>, %b: memref<{SIDE}x{SIDE}xf32>) {{
  %fifth = arith.constant 0.2 : f32
  affine.for %t = 0 to 96 {{
    {_half_step("a", "b")}
    {_half_step("b", "a")}
  }}
  return
}}"""
"""As PolyBench's jacobi-2d: each step is two sweeps."""
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
    "relu": ELEMENTWISE.replace("STORE", "%i, %j"),
    "transpose": ELEMENTWISE.replace("STORE", "%j, %i"),
    "row sum": SUM.replace("LOAD", "%i, %j"),
    "column sum": SUM.replace("LOAD", "%j, %i"),
    "jacobi": JACOBI,
    "jacobi, many steps": STEPS,
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
