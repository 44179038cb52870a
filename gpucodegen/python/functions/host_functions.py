"""Functions that NumPy runs on the host (`FUNCTIONS_OF_NUMPY`), and ``print``."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from typing import cast as cast_to

import numpy as np

from gpucodegen.ir.attributes import StringAttr, dictionary
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.library.numpy_routines import (
    FUNCTIONS_OF_NUMPY,
    PREFIX,
    function_of,
)
from gpucodegen.python.arrays import Lazy, View, assign, cast, copied, in_memory, lazy
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.functions.arguments import (
    array_given,
    axes_given,
    constant_given,
    flag_given,
)
from gpucodegen.python.functions.reduction_functions import squared_length
from gpucodegen.python.operators import elementwise
from gpucodegen.python.reductions import LARGEST, SUM, reduced
from gpucodegen.python.results import is_tuple, leaves, rebuilt
from gpucodegen.python.scalars import Scalar, known
from gpucodegen.python.types import category, dtype_of, element, is_python
from gpucodegen.records import dataclass

Rule = Callable[..., Bound]


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
        Scalar(int, c.b.value("memref.dim", (memory, c.b.constant(d, INDEX)), INDEX))
        for d in range(len(memory.type.shape))
    ]
    return View(memory, dtype, tuple(extents), frozenset([memory]))


def _encoded(
    c: Context, node: ast.AST, value: Bound, operands: list[Any], extent: int
) -> tuple[Any, Any]:
    """An argument as data in which ``("operand", n)`` stands for a value of the call.

    The second result is an example of the argument: matrices are the identity.
    """
    if is_tuple(value):
        parts = [_encoded(c, node, part, operands, extent) for part in value]
        return [data for data, _ in parts], [example for _, example in parts]
    if value is None or isinstance(value, str):
        return value, value
    if isinstance(value, Scalar):
        if value.value is None and np.isfinite(value.constant):
            return value.constant, value.constant
        example = np.ones((), dtype_of(value.kind))[()]
        example = example.item() if is_python(value.kind) else example
    else:
        whole = array_given(c, node, value)
        rank = len(whole.extents)
        example = np.ones((extent,) * rank, whole.dtype)
        example = example * np.eye(extent, dtype=whole.dtype) if rank > 1 else example
    operands.append(value)
    return ("operand", len(operands) - 1), example


def _host(path: str) -> Rule:
    """A function of NumPy on the host; NumPy tells types and ranks of an example."""
    function = function_of(path)

    def rule(c: Context, node: ast.AST, *values: Bound, **named: Bound) -> Bound:
        example, pairs, options, operands = None, [], {}, list[Any]()
        for extent in (2, 64):  # an argument may be a position
            operands.clear()
            pairs = [_encoded(c, node, v, operands, extent) for v in values]
            options = {
                n: _encoded(c, node, v, operands, extent) for n, v in named.items()
            }
            given = {n: e for n, (_, e) in options.items()}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    example = function(*(e for _, e in pairs), **given)
                break
            except (TypeError, ValueError, IndexError) as problem:
                if extent == 64:
                    what = f"this call of `numpy.{path}`"
                    raise c.refuse(node, what, f"NumPy says: {problem}") from problem
        parts = [np.asarray(p) for p in leaves(_as_tuples(example))]
        kinds = [p.dtype for p in parts]
        if path in ("linalg.eig", "linalg.eigvals"):
            kinds = [np.result_type(kind, np.complex64) for kind in kinds]
        types = [
            MemRefType((None,) * p.ndim, element(kind)) if p.ndim else element(kind)
            for p, kind in zip(parts, kinds, strict=True)
        ]
        data = [d for d, _ in pairs], {n: d for n, (d, _) in options.items()}
        given = {"call": repr(data), "results": ",".join(kind.name for kind in kinds)}
        found = _handle(c, PREFIX + path, operands, types, **given)
        made = [
            _made(c, value, kind) if p.ndim else Scalar(kind, value)
            for value, p, kind in zip(found, parts, kinds, strict=True)
        ]
        return rebuilt(_as_tuples(example), iter(made))

    return rule


def _as_tuples(value: Any) -> Any:
    """The results in a plain tuple, where there are several."""
    return (*cast_to("Any", value),) if isinstance(value, tuple | list) else value


def sort_in_place(c: Context, node: ast.AST, array: Bound, axis: Bound = None) -> Bound:
    """The method ``sort`` of arrays."""
    if not isinstance(array, View):
        raise c.wrong(node, "`sort`", [array], "Sort an array that is in memory")
    last = known(-1) if axis is None else axis
    assign(c.b, _host("sort")(c, node, array, last), array)
    return None


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
    texts, shown, formats = [""], list[Any](), list[str]()
    for n, value in enumerate(values):
        texts[-1] += between if n else ""
        parts = value.parts if isinstance(value, Formatted) else ((value, ""),)
        for part, spec in parts:
            if isinstance(part, str):
                texts[-1] += format(part, spec)
            elif isinstance(part, Scalar | View | Lazy):
                shown.append(part)
                formats.append(spec)
                texts.append("")
            else:
                hint = "Print texts, numbers and arrays"
                raise c.wrong(node, "`print`", [part], hint)
    texts[-1] += last
    given = {"texts": "\0".join(texts), "formats": "\0".join(formats)}
    _handle(c, "python.print", shown, [], **given)
    return None


@dataclass(frozen=True, slots=True)
class Formatted:
    """An f-string: its texts and values, each with a format."""

    parts: tuple[tuple[Bound, str], ...]


FUNCTIONS: dict[Any, Rule] = {
    **{function_of(path): _host(path) for path in FUNCTIONS_OF_NUMPY},
    np.linalg.norm: _norm,
    sort_in_place: sort_in_place,
    print: _print,
}
