"""Programs on narrow floats, and the nearest numbers of a type found by distance."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import gpucodegen as gcg
from gpucodegen.ir.number_formats import FORMATS, SMALL, decode_table

Array = np.ndarray[Any, Any]
NAMES = sorted(SMALL)

CONVERT = """
func.func @convert(%codes: memref<?x!T>, %values: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %codes, %c0 : memref<?x!T>
  affine.for %i = 0 to %n {
    %0 = affine.load %codes[%i] : memref<?x!T>
    %1 = arith.extf %0 : !T to f32
    affine.store %1, %values[%i] : memref<?xf32>
  }
  return
}
func.func @round(%x: memref<?xf32>, %w: memref<?xf64>, %r: memref<?x!T>,
                 %s: memref<?x!T>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xf32>
    %1 = arith.truncf %0 : f32 to !T
    affine.store %1, %r[%i] : memref<?x!T>
    %2 = affine.load %w[%i] : memref<?xf64>
    %3 = arith.truncf %2 : f64 to !T
    affine.store %3, %s[%i] : memref<?x!T>
  }
  return
}
"""

ARITHMETIC = """
func.func @arithmetic(%x: memref<?x!T>, %y: memref<?x!T>, %z: memref<?x!T>,
                      %out: memref<5x?x!T>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x!T>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?x!T>
    %b = affine.load %y[%i] : memref<?x!T>
    %c = affine.load %z[%i] : memref<?x!T>
    %0 = arith.addf %a, %b : !T
    %1 = arith.subf %a, %b : !T
    %2 = arith.mulf %a, %b : !T
    %3 = arith.divf %a, %b : !T
    %4 = math.fma %a, %b, %c : !T
    affine.store %0, %out[0, %i] : memref<5x?x!T>
    affine.store %1, %out[1, %i] : memref<5x?x!T>
    affine.store %2, %out[2, %i] : memref<5x?x!T>
    affine.store %3, %out[3, %i] : memref<5x?x!T>
    affine.store %4, %out[4, %i] : memref<5x?x!T>
  }
  return
}
"""


@cache
def program(text: str, name: str, target: str) -> gcg.Program:
    """A program with ``!T`` replaced by a type."""
    return gcg.compile(text.replace("!T", name), target=target)


def values_of(codes: Array, name: str) -> Array:
    """The numbers of codes, as float64."""
    return np.array(decode_table(name))[codes.astype(int)]


@cache
def _ladder(name: str) -> tuple[Array, Array]:
    """The magnitudes of all codes and one step beyond, and what lies between them."""
    format_ = FORMATS[name]
    values = list(decode_table(name)[: format_.largest + 1])
    has_fraction = format_.special != "e8m0"
    top = 2 * values[-1] - values[-2] if has_fraction else 2 * values[-1]
    ladder = np.array([*values, top])
    return ladder, (ladder[1:] + ladder[:-1]) / 2


def nearest(x: Array, name: str) -> Array:
    """The nearest number, by distance; ties to an even last digit.

    The only digit of f8E8M0FNU is a one, which is odd, so its ties go up.  Too large
    is infinite, NaN, or the largest, as the type has it.
    """
    format_ = FORMATS[name]
    ladder, middles = _ladder(name)
    size = np.abs(np.where(np.isnan(x), 0, x))
    below = np.clip(np.searchsorted(ladder, size, "right") - 1, 0, len(middles) - 1)
    with np.errstate(invalid="ignore"):
        ties = (below % 2 == 1) | (format_.special == "e8m0")
        up = (size > middles[below]) | ((size == middles[below]) & ties)
    found = ladder[below + up]
    if format_.special == "e8m0":
        found = np.maximum(found, ladder[0])
    large = {"ieee": np.inf, "finite": ladder[-2]}.get(format_.special, np.nan)
    found = np.where(below + up > format_.largest, large, found)
    found = np.copysign(found, x) if format_.is_signed else found
    found = np.where((found == 0) & (format_.special == "fnuz"), 0.0, found)
    no_number = ladder[-2] if format_.nan is None else np.nan
    return np.where(np.isnan(x), no_number, found)


def same(actual: Array, wanted: Array) -> bool:
    """Equal numbers, signs of zeros included; NaNs are alike."""
    nan = np.isnan(actual)
    with np.errstate(invalid="ignore"):
        equal = (actual == wanted) & (np.signbit(actual) == np.signbit(wanted))
    return bool(np.all(np.where(nan, np.isnan(wanted), equal)))


def awkward(name: str) -> Array:
    """float64 numbers near all decisions of a type: values, middles, neighbours."""
    ladder, middles = _ladder(name)
    near = np.concatenate([ladder, middles])
    tiny = np.concatenate([near * (1 + 2.0**-40), near * (1 - 2.0**-40)])
    special = [0.0, np.inf, np.nan, 1e-310, 1e300, 2.0**-149]
    found = np.concatenate([near, tiny, special])
    return np.concatenate([found, -found, singles(near), -singles(near)])


def singles(x: Array) -> Array:
    """The float32 behind each number."""
    with np.errstate(all="ignore"):
        return np.nextafter(x.astype("f4"), np.float32(np.inf)).astype("f8")
