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
NAIVE = """
func.func @f(%A: memref<2048x256xf32>, %B: memref<256x2048xf32>,
             %C: memref<2048x2048xf32>) {
  affine.for %i = 0 to 2048 {
    affine.for %j = 0 to 2048 {
      affine.for %k = 0 to 256 {
        %a = affine.load %A[%i, %k] : memref<2048x256xf32>
        %b = affine.load %B[%k, %j] : memref<256x2048xf32>
        %c = affine.load %C[%i, %j] : memref<2048x2048xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<2048x2048xf32>
      }
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
func.func @f(%A: memref<64x512x512xf32>, %B: memref<64x512x512xf32>,
             %C: memref<64x512x512xf32>) {
  linalg.batch_matmul
    ins(%A, %B : memref<64x512x512xf32>, memref<64x512x512xf32>)
    outs(%C : memref<64x512x512xf32>)
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


def convolution(name: str, image: str, window: str, result: str) -> str:
    types = [f"memref<{shape}xf32>" for shape in (image, window, result)]
    return f"""
func.func @f(%I: {types[0]}, %F: {types[1]}, %O: {types[2]}) {{
  linalg.{name} ins(%I, %F : {types[0]}, {types[1]}) outs(%O : {types[2]})
  return
}}"""


LAYER = """
#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @f(%A: memref<2048x512xf32>, %B: memref<512x2048xf32>,
             %b: memref<2048xf32>,
             %D: memref<2048x2048xf32>) {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<2048x2048xf32>
  linalg.fill ins(%zero : f32) outs(%C : memref<2048x2048xf32>)
  linalg.matmul ins(%A, %B : memref<2048x512xf32>, memref<512x2048xf32>)
                outs(%C : memref<2048x2048xf32>)
  linalg.generic {indexing_maps = [#whole, #row, #whole],
                  iterator_types = ["parallel", "parallel"]}
    ins(%C, %b : memref<2048x2048xf32>, memref<2048xf32>)
    outs(%D : memref<2048x2048xf32>) {
    ^bb0(%c: f32, %x: f32, %old: f32):
      %s = arith.addf %c, %x : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
  }
  memref.dealloc %C : memref<2048x2048xf32>
  return
}"""

PROGRAMS = {
    "f32 128 x 128": product(2048, 2048, 256, "f32", "f32"),
    "f32 64 x 64": product(1024, 1024, 256, "f32", "f32"),
    "f32 32 x 32": product(128, 128, 64, "f32", "f32"),
    "f32 ragged": product(1000, 513, 97, "f32", "f32"),
    "f32 split": product(256, 256, 4096, "f32", "f32"),
    "f64": product(2048, 2048, 256, "f64", "f64"),
    "f64 64 x 128": NAIVE.replace("f32", "f64"),
    "f64 32 x 32": NAIVE.replace("f32", "f64")
    .replace("256", "64")
    .replace("2048", "256"),
    "batched": BATCH,
    "naive": NAIVE,
    "matvec": MATVEC,
    "convolution": CONVOLUTION,
    "channels last": convolution(
        "conv_2d_nhwc_hwcf", "32x58x58x64", "3x3x64x64", "32x56x56x64"
    ),
    "channels first": convolution(
        "conv_2d_nchw_fchw", "32x64x58x58", "64x64x3x3", "32x64x56x56"
    ),
    "1x1": convolution(
        "conv_2d_nhwc_hwcf", "32x56x56x64", "1x1x64x256", "32x56x56x256"
    ),
    "bias and relu": LAYER,
    "small layer": LAYER.replace("<2048x512x", "<640x64x")
    .replace("<512x2048x", "<64x512x")
    .replace("<2048x2048x", "<640x512x")
    .replace("<2048x", "<512x"),
    "f16": product(640, 512, 64, "f16", "f16"),
    "i8": product(640, 512, 64, "i8", "i32"),
    "relu": elementwise("f32", "f32"),
    "relu f16": elementwise("f16", "f16"),
    "f32 to f16": elementwise("f32", "f16", operation="arith.truncf %v : f32 to f16"),
    "transpose": elementwise("f32", "f32", "%j, %i"),
    "transpose f16": elementwise("f16", "f16", "%j, %i"),
    "copy": COPY,
    "axpy": AXPY,
    "chain": CHAIN,
    "row sum": SUM.replace("LOAD", "%i, %j"),
    "column sum": SUM.replace("LOAD", "%j, %i"),
    "free row sum": free_sum(4096, 2048, "1", "4096x"),
    "free column sum": free_sum(2048, 8192, "0", "8192x"),
    "free full sum": free_sum(4096, 4096, "0, 1", ""),
    "softmax": SOFTMAX,
    "argmax": ARGMAX,
    "jacobi": JACOBI,
    "jacobi, many steps": STEPS,
}


@cache
def reported(name: str) -> KernelReport:
    """The report of kernels that devices before sm_90 have, too."""
    options = {"arch": "sm_90"}
    made = report(PROGRAMS[name], arch=ARCHITECTURE, options=options)
    (function,) = made.functions
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
