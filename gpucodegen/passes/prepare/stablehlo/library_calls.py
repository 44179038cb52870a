"""StableHLO Fourier transforms, factorizations and calls of LAPACK.

Factorizations of small matrices become loops.  The others become calls of
`gpucodegen.library.transforms`, which run on the host: operands on a GPU are copied
there, and the results back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.stablehlo.syntax import word
from gpucodegen.ir.attributes import (
    Attribute,
    DictAttr,
    IntegerAttr,
    StringAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, element_type
from gpucodegen.library.transforms import lapack_name
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.outside_calls import outside
from gpucodegen.passes.prepare.stablehlo.forms import Rule, refusal, shape
from gpucodegen.passes.prepare.stablehlo.small_matrices import as_loops

LETTERS = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}
"""LAPACK's letter for each element type."""
UNCHANGED = frozenset(
    "Sharding SPMDFullToShardShape SPMDShardToFullShape"
    " annotate_device_placement".split()
)
"""Calls that only say where a value lives."""


def called(
    b: Builder, op: Operation, name: str, attributes: Mapping[str, Attribute]
) -> Sequence[Value]:
    """The results of a routine on the operands."""
    made = op.with_(results=tuple(v.renewed() for v in op.results))
    b.operations += outside(made, name, attributes)
    return made.results


def fft(b: Builder, op: Operation) -> Sequence[Value]:
    """A transform along the last dimensions."""
    for value in (*op.operands, *op.results):
        if str(element_type(value.type)) not in LETTERS:
            raise refusal(op, "Transform f32 or f64", str(element_type(value.type)))
    lengths = ",".join(map(str, numbers(op, "fft_length")))
    about = {"kind": word(op.attributes.get("fft_type")), "length": lengths}
    given = {name: StringAttr(text) for name, text in about.items()}
    return called(b, op, "fft.transform", given)


def cholesky(b: Builder, op: Operation, *, on_cpu: bool) -> Sequence[Value]:
    """The factor of a positive definite matrix; the other triangle is the operand's."""
    options = {"uplo": "L" if op.integer("lower") else "U"}
    return _lapack(b, op, "potrf", options, on_cpu=on_cpu)


def triangular_solve(b: Builder, op: Operation, *, on_cpu: bool) -> Sequence[Value]:
    """``op(a) x = b``, or ``x op(a) = b``."""
    turned = word(op.attributes.get("transpose_a"))
    options = {
        "side": "L" if op.integer("left_side") else "R",
        "uplo": "L" if op.integer("lower") else "U",
        "diag": "U" if op.integer("unit_diagonal") else "N",
        "trans_x": {"TRANSPOSE": "T", "ADJOINT": "C"}.get(turned, "N"),
    }
    return _lapack(b, op, "trsm", options, on_cpu=on_cpu)


def _lapack(
    b: Builder, op: Operation, routine: str, options: Mapping[str, str], *, on_cpu: bool
) -> Sequence[Value]:
    element = str(element_type(op.operands[0].type))
    if element not in LETTERS:
        raise refusal(op, "Use f32 or f64", element)
    made = as_loops(b, op, routine, options, on_cpu=on_cpu)
    if made is not None:
        return made
    given = {name: IntegerAttr(ord(text), I64) for name, text in options.items()}
    return called(b, op, f"lapack.{LETTERS[element]}{routine}", given)


def custom_call(b: Builder, op: Operation, *, on_cpu: bool) -> Sequence[Value]:
    """A call of LAPACK, with the options of its configuration."""
    target = op.string("call_target_name")
    if target in UNCHANGED and [v.type for v in op.operands] == [op.result.type]:
        return op.operands
    routine = lapack_name(target)
    if routine is None:
        advice = "Remove the call, or write its function with other operations"
        raise refusal(op, advice, f"target {target}")
    stated = op.attributes.get("mhlo.backend_config")
    stated = stated or op.attributes.get("backend_config")
    entries = dict(stated.entries) if isinstance(stated, DictAttr) else {}
    given = {
        name: IntegerAttr(value.value, I64)
        for name, value in entries.items()
        if isinstance(value, IntegerAttr)
    }
    options = {name: chr(int(value.value)) for name, value in given.items()}
    made = as_loops(b, op, routine[1:], options, on_cpu=on_cpu)
    if made is not None:
        return made
    if routine.endswith("gesdd"):
        left, right = (shape(op.results[n]) for n in (2, 3))
        given["left"], given["right"] = (
            IntegerAttr(n, I64) for n in (left[-1], right[-2])
        )
    return called(b, op, f"lapack.{routine}", given)


def library_rules(*, on_cpu: bool) -> dict[str, Rule]:
    return {
        "stablehlo.fft": fft,
        "stablehlo.cholesky": partial(cholesky, on_cpu=on_cpu),
        "stablehlo.triangular_solve": partial(triangular_solve, on_cpu=on_cpu),
        "stablehlo.custom_call": partial(custom_call, on_cpu=on_cpu),
    }
