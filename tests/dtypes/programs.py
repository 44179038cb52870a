"""Small programs for an element type."""

from __future__ import annotations

import warnings
from itertools import count
from typing import Any

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.ir.number_formats import SMALL, of_bits, to_bits
from gpucodegen.parser import parse_module
from tests.operations.arguments import arguments_of, made

INTEGERS = ("i1", "i4", "i7", "i8", "i16", "i24", "i32", "i48", "i64", "i128", "index")
SIGNED = ("si8", "ui8", "si32", "ui32")
COMPLEXES = ("complex<f32>", "complex<f64>", "complex<f16>", "complex<i32>")
OTHERS = ("tf32", "f80", "f128")
FLOATS = ("f64", "f32", "f16", "bf16", *sorted(SMALL))
TYPES = (*FLOATS, *OTHERS, *INTEGERS, *SIGNED, *COMPLEXES)
TARGETS = ("interp", "cpu", "sim")
RUNS = "runs"


def adding(ty: str) -> str:
    """The operation that adds two numbers of a type."""
    if ty.startswith("complex"):
        return "complex.add"
    return "arith.addi" if ty in (*INTEGERS, *SIGNED) else "arith.addf"


def _loop(ty: str, body: str, step: int = 1) -> str:
    return f"""func.func @f(%a: memref<8x{ty}>, %b: memref<8x{ty}>) {{
      affine.for %i = 0 to 8 step {step} {{
        {body}
      }}
      return
    }}"""


def programs(ty: str) -> dict[str, str]:
    """By what they show: arguments, arithmetic, vectors."""
    m, v, add = f"memref<8x{ty}>", f"vector<4x{ty}>", adding(ty)
    return {
        "arguments": _loop(
            ty,
            f"""%x = affine.load %a[%i] : {m}
            affine.store %x, %b[%i] : {m}""",
        ),
        "arithmetic": _loop(
            ty,
            f"""%x = affine.load %a[%i] : {m}
            %y = {add} %x, %x : {ty}
            affine.store %y, %b[%i] : {m}""",
        ),
        "vectors": _loop(
            ty,
            f"""%x = vector.load %a[%i] : {m}, {v}
            %y = {add} %x, %x : {v}
            vector.store %y, %b[%i] : {m}, {v}""",
            4,
        ),
    }


def outcome(text: str, target: str) -> str:
    """`RUNS`, or the name of the error; others must agree with the interpreter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = parse_module(text)
            arguments = arguments_of(module.functions["f"])
            if target == "interp":
                gcg.compile(module, target=target).f(*arguments)
            else:
                gcg.check(module, *arguments, function="f", target=target)
        except (errors.Error, TypeError) as error:
            return type(error).__name__
    return RUNS


NARROW = {"f16": 2.0**-4, "bf16": 1.0, "f8E4M3FN": 2.0**-3, "f8E5M2": 2.0**-3}
"""Numbers of which so many are summed up that a sum of their own type stops growing."""
COUNTS = {"f16": 1 << 16, "bf16": 1 << 14, "f8E4M3FN": 1 << 11, "f8E5M2": 1 << 11}


def accumulator(ty: str, target: str) -> str:
    """``wider`` or ``itself``: where the sum of a product of matrices is kept; or the
    name of an error.

    Rows of equal numbers times a column of ones.  A sum of their own type stops growing
    once a number is below half of its last place, far below the whole sum, even if 64
    parts are summed up apart.
    """
    depth, value = COUNTS[ty], NARROW[ty]
    text = f"""func.func @f(%a: memref<8x{depth}x{ty}>, %b: memref<{depth}x8x{ty}>,
        %c: memref<8x8x{ty}>) {{
      linalg.matmul ins(%a, %b : memref<8x{depth}x{ty}>, memref<{depth}x8x{ty}>)
        outs(%c : memref<8x8x{ty}>)
      return
    }}"""
    module = parse_module(text)
    a, b, c = (made(t, count()) for t in types_of(module))
    for array, number in ((a, value), (b, 1.0), (c, 0.0)):
        array[...] = number if ty == "f16" else to_bits(number, ty)
    try:
        gcg.compile(module, target=target).f(a, b, c)
    except errors.Error as error:
        return type(error).__name__
    found = float(c[0, 0]) if ty == "f16" else of_bits(int(c[0, 0]), ty)
    return "wider" if found == value * depth else "itself"


def types_of(module: Any) -> Any:
    """The types of the arguments of ``f``."""
    from gpucodegen.dialects.func import Function

    return Function(module.functions["f"]).type.inputs


def storage(ty: str) -> str:
    """How an element lies in memory, as the interpreter's arrays have it."""
    from gpucodegen.interp.values import element

    module = parse_module(f"func.func private @f(memref<1x{ty}>)")
    try:
        dtype = element(types_of(module)[0].element).dtype
    except errors.Error:
        return "-"
    return "-" if dtype.kind == "O" else f"{dtype.itemsize}"
