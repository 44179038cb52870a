"""Functions that the library runs on the host: ``numpy.linalg`` and ``print``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen.ir.attributes import StringAttr, dictionary
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.library.numpy_routines import PREFIX
from gpucodegen.python.arrays import Lazy, View, cast, copied, in_memory, lazy
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.functions.arguments import (
    array_given,
    axes_given,
    constant_given,
    flag_given,
)
from gpucodegen.python.functions.reduction_functions import real_of, squared_length
from gpucodegen.python.operators import elementwise
from gpucodegen.python.reductions import LARGEST, SUM, reduced
from gpucodegen.python.scalars import Scalar
from gpucodegen.python.types import category, element, is_python

Rule = Callable[..., Bound]


@dataclass(frozen=True, slots=True)
class Result:
    """A result: its rank less than that of the first operand, and if it is real."""

    fewer: int = 0
    is_real: bool = False


RESULTS: dict[str, tuple[Result, ...]] = {
    "inv": (Result(),),
    "pinv": (Result(),),
    "det": (Result(2),),
    "cholesky": (Result(),),
    "qr": (Result(), Result()),
    "svd": (Result(), Result(1, is_real=True), Result()),
    "eigh": (Result(1, is_real=True), Result()),
    "eigvalsh": (Result(1, is_real=True),),
}


def _handle(
    c: Context, name: str, values: Sequence[Any], types: Sequence[Any], **given: str
) -> Sequence[Any]:
    """``gcg.handle``: a routine of the library on numbers and arrays."""
    operands: list[Any] = []
    dtypes: list[str] = []
    for value in values:
        if isinstance(value, Scalar):
            operands.append(value.ssa(c.b))
            dtypes.append("python" if is_python(value.kind) else value.kind.name)
            continue
        view = in_memory(c.b, value)
        view = view if view.type.layout is None else copied(c.b, view)
        operands.append(view.memory)
        dtypes.append(view.dtype.name)
    about = {"dtypes": ",".join(dtypes), **given}
    texts = {key: StringAttr(text) for key, text in about.items()}
    attributes = {"operation": StringAttr(name), "given": dictionary(texts)}
    return c.b.add("gcg.handle", operands, types, attributes)


def _made(c: Context, memory: Any, dtype: Any) -> View:
    """The array that a routine returned."""
    extents = [
        Scalar(int, c.b.add("memref.dim", (memory, c.b.constant(d, INDEX)), [INDEX])[0])
        for d in range(len(memory.type.shape))
    ]
    return View(memory, dtype, tuple(extents), frozenset([memory]))


def _matrices(c: Context, node: ast.AST, values: Sequence[Bound]) -> list[Lazy]:
    """Operands of one floating type; integers are float64, as in NumPy."""
    wholes = [lazy(array_given(c, node, v)) for v in values]
    kinds = [np.dtype("f8") if w.dtype.kind in "biu" else w.dtype for w in wholes]
    dtype = np.result_type(*kinds)
    if dtype == np.dtype("f2") or len(wholes[0].extents) < 2:
        hint = "Give matrices of float32, float64 or complex numbers"
        raise c.wrong(node, "numpy.linalg", list(values), hint)
    return [cast(w, dtype) for w in wholes]


def _routine(name: str) -> Rule:
    def rule(c: Context, node: ast.AST, a: Bound) -> Bound:
        (whole,) = _matrices(c, node, [a])
        rank = len(whole.extents)
        kinds = [
            real_of(whole.dtype) if r.is_real else whole.dtype for r in RESULTS[name]
        ]
        ranks = [rank - r.fewer for r in RESULTS[name]]
        types = [
            MemRefType((None,) * n, element(kind)) if n else element(kind)
            for n, kind in zip(ranks, kinds, strict=True)
        ]
        found = _handle(c, PREFIX + name, [whole], types)
        made = [
            _made(c, value, kind) if n else Scalar(kind, value)
            for value, n, kind in zip(found, ranks, kinds, strict=True)
        ]
        return made[0] if len(made) == 1 else tuple(made)

    return rule


def _solve(c: Context, node: ast.AST, a: Bound, b: Bound) -> Bound:
    left, right = _matrices(c, node, [a, b])
    rank = len(right.extents)
    if rank > 1:
        rank = max(rank, len(left.extents))
    ty = MemRefType((None,) * rank, element(left.dtype))
    (found,) = _handle(c, PREFIX + "solve", [left, right], [ty])
    return _made(c, found, left.dtype)


def _norm(
    c: Context,
    node: ast.AST,
    x: Bound,
    ord: Bound = None,  # noqa: A002 - NumPy's name
    axis: Bound = None,
    keepdims: Bound = None,
) -> Bound:
    """The root of the sum of squares; of vectors also the sum and the largest."""
    whole = lazy(array_given(c, node, x))
    axes = axes_given(c, node, len(whole.extents), axis)
    kept = flag_given(c, node, keepdims, "keepdims=")
    order = constant_given(c, node, ord, "ord=")
    if category(whole.kind) in "biu":
        whole = cast(whole, np.dtype("f8"))
    sizes = elementwise(c, node, np.absolute, [whole], "`norm`")
    if len(axes) == 1 and order in (1, np.inf):
        how = SUM if order == 1 else LARGEST
        return reduced(c.b, how, sizes, axes, keepdims=kept)
    is_root = order is None or (order == 2 and len(axes) == 1) or order == "fro"
    if not is_root:
        raise c.refuse(node, f"the norm of order {order}", "Leave ord= out")
    total = reduced(c.b, SUM, squared_length(c, node, whole), axes, keepdims=kept)
    return elementwise(c, node, np.sqrt, [total], "`norm`")


def _print(
    c: Context, node: ast.AST, *values: Bound, sep: Bound = " ", end: Bound = "\n"
) -> Bound:
    """``print`` of texts, numbers and arrays, when the call comes to it."""
    between = " " if sep is None else str(constant_given(c, node, sep, "sep="))
    last = "\n" if end is None else str(constant_given(c, node, end, "end="))
    texts, shown = [""], list[Any]()
    for n, value in enumerate(values):
        texts[-1] += between if n else ""
        if isinstance(value, str):
            texts[-1] += value
        elif isinstance(value, Scalar | View | Lazy):
            shown.append(value)
            texts.append("")
        else:
            hint = "Print texts, numbers and arrays"
            raise c.wrong(node, "`print`", [value], hint)
    texts[-1] += last
    _handle(c, "python.print", shown, [], texts="\0".join(texts))
    return None


def dot_of_vectors(c: Context, node: ast.AST, a: Bound, b: Bound) -> Bound:
    """``vdot``: the first operand is conjugated."""
    first = elementwise(c, node, np.conjugate, [a], "`vdot`")
    product = elementwise(c, node, np.multiply, [first, b], "`vdot`")
    whole = lazy(product)
    return reduced(c.b, SUM, whole, range(len(whole.extents)))


FUNCTIONS: dict[Any, Rule] = {
    **{getattr(np.linalg, name): _routine(name) for name in RESULTS},
    np.linalg.solve: _solve,
    np.linalg.norm: _norm,
    np.vdot: dot_of_vectors,
    print: _print,
}
