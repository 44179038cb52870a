"""Table of callable functions of NumPy, ``math`` and Python."""

from __future__ import annotations

import ast
import builtins
import cmath
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpucodegen.python import complex_numbers, iterables
from gpucodegen.python.arrays import (
    Lazy,
    View,
    allocated,
    assign,
    broadcast,
    cast,
    composed,
    copied,
    fill,
    lazy,
    renewed,
)
from gpucodegen.python.composed import python_math
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.elementwise import COMPARISONS, apply
from gpucodegen.python.functions import (
    composed_functions,
    creation,
    host_functions,
    products,
    queries,
    reduction_functions,
    shapes,
)
from gpucodegen.python.functions.arguments import (
    array_given,
    constant_given,
    dtype_given,
    number_given,
    shape_given,
)
from gpucodegen.python.gathers import Gathered
from gpucodegen.python.masks import Selected, nonzero
from gpucodegen.python.operators import combined, elementwise, truth
from gpucodegen.python.range_checks import convert
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import NoRow, Scalar, astype, chosen, compared, known
from gpucodegen.python.types import (
    Kind,
    category,
    described,
    dtype_of,
    is_python,
    joined,
    resolved,
)

Rule = Callable[..., Bound]


def of_numbers(
    c: Context,
    node: ast.Call,
    ufunc: np.ufunc,
    arguments: list[Bound],
    named: Mapping[str, Bound],
) -> Bound:
    """A function of each element; ``out=``, ``where=`` and ``dtype=`` too."""
    name = f"`{ufunc.__name__}`"
    options = dict(named)
    if len(arguments) == ufunc.nin + 1:
        options["out"] = arguments.pop()
    if set(options) - {"out", "where", "dtype"} or len(arguments) != ufunc.nin:
        hint = f"Pass {ufunc.nin} operand{'s' * (ufunc.nin > 1)}, and at most"
        raise c.refuse(node, f"these arguments of {name}", f"{hint} {_OPTIONS}")
    if not all(isinstance(v, Scalar | View | Lazy) for v in arguments):
        raise c.wrong(node, name, arguments, "Use numbers and arrays")
    where, out = options.get("where"), options.get("out")
    if where is not None and out is None:
        hint = "Give out=, too: other elements have no value"
        raise c.refuse(node, f"where= of {name}", hint)
    values = _of_numpy(c, arguments)
    if options.get("dtype") is not None:
        kind = dtype_given(c, node, options["dtype"], float)
        if ufunc in COMPARISONS:
            raise c.refuse(node, f"dtype= of {name}", "Convert the operands")
        values = [
            convert(c.b, v, kind) if isinstance(v, Scalar) else cast(v, kind)
            for v in values
        ]
    made = elementwise(c, node, ufunc, values, name)
    if isinstance(made, Scalar):
        made = convert(c.b, made, dtype_of(made.kind))
    if out is None:
        return made
    if where is not None:
        in_place(c, node, out, made)
        made = _where(c, node, where, made, out)
    return stored(c, node, out, made)


_OPTIONS = "out=, where= and dtype="


def stored(c: Context, node: ast.AST, out: Bound, made: Bound) -> Bound:
    """A function's ``out=``, with the result in it."""
    target = out
    if not isinstance(target, View) or not isinstance(made, Scalar | View | Lazy):
        raise c.wrong(node, "out=", [target], "Pass an array that is in memory")
    in_place(c, node, target, made)
    with c.operands(node, "out=", [target, made]):
        assign(c.b, made, target)
    return target


def takes_out(function: Any) -> bool:
    """Whether NumPy's function has ``out=``, and a result of one array."""
    if function in (np.dot, np.concatenate, np.matmul):
        return True
    try:
        return "out" in inspect.signature(function).parameters
    except ValueError:
        return False


def _of_numpy(c: Context, values: list[Any]) -> list[Any]:
    """Operands for NumPy's functions: Python bools become NumPy bools.

    Python integers and floats stay, which computes the same.
    """
    return [
        convert(c.b, v, dtype_of(v.kind))
        if isinstance(v, Scalar) and category(v.kind) == "b"
        else v
        for v in values
    ]


def ufunc_method(
    c: Context,
    node: ast.AST,
    ufunc: np.ufunc,
    name: str,
    arguments: list[Bound],
    named: dict[str, Bound],
) -> Bound:
    """``ufunc.outer``, ``reduce``, ``accumulate``, and ``at``, which may repeat."""
    method = f"`{ufunc.__name__}.{name}`"
    if name in ("reduce", "accumulate"):
        out = named.pop("out", None)
        names = ("axis", "dtype", "out", "keepdims", "initial", "where")
        options = named | dict(zip(names, arguments[1:], strict=False))
        if name == "reduce":
            made = reduction_functions.reduce(c, node, ufunc, arguments[0], **options)
        else:
            axis = options.pop("axis", known(0))
            with c.operands(node, method, arguments):
                made = reduction_functions.running(
                    c, node, ufunc, arguments[0], axis, **options
                )
        return made if out is None else stored(c, node, out, made)
    if named or len(arguments) != (2 if name == "outer" else 3):
        raise c.refuse(node, f"these arguments of {method}", "Pass the operands only")
    if not all(isinstance(v, Scalar | View | Lazy) for v in arguments):
        raise c.wrong(node, f"`{name}`", arguments, "Use numbers and arrays")
    if name == "outer":
        return creation.outer(c, node, ufunc, *_of_numpy(c, arguments))
    target, places, value = arguments
    is_indexed = isinstance(places, View | Lazy) and places.dtype.kind in "iu"
    if not isinstance(target, View) or not is_indexed:
        raise c.wrong(node, "`at`", arguments, "Give an array and an index array")
    rest = (None,) * (len(target.extents) - 1)

    def combined(b: Any, pair: Sequence[Scalar]) -> Scalar:
        return apply(b, ufunc, pair)

    with c.operands(node, f"{method}", arguments):
        wraps = ufunc in (np.add, np.subtract, np.multiply)
        if isinstance(value, Scalar) and wraps and target.dtype.kind in "iu":
            value = astype(c.b, value, target.dtype)  # as NumPy casts it
        made = Gathered(target, (places, *rest), False)
        made.store(c.b, value, combined)
    return known(0)


def in_place(c: Context, node: ast.AST, old: Bound, made: Bound) -> None:
    """Refuse an in-place update that changes the kind of number, as NumPy does."""
    if not isinstance(old, View | Lazy | Selected):
        return
    kind = dtype_of(made.kind) if isinstance(made, Scalar) else made.dtype
    if not np.can_cast(kind, old.dtype, "same_kind"):
        hint = f"Convert it with .astype(numpy.{old.dtype.name})"
        raise c.wrong(node, "an update in place", [old, made], hint)


# -- numbers ---------------------------------------------------------------------------


def converted(c: Context, node: ast.Call, kind: Kind, arguments: list[Bound]) -> Bound:
    """``float(x)``, ``numpy.float32(x)`` and other conversions."""
    if kind is complex and len(arguments) == 2:
        imaginary = elementwise(c, node, np.multiply, [arguments[1], known(1j)], "")
        return elementwise(c, node, np.add, [arguments[0], imaginary], "`complex`")
    if len(arguments) == 1 and isinstance(arguments[0], str):
        try:
            maker: Any = kind if is_python(kind) else dtype_of(kind).type
            return known(maker(arguments[0]))
        except ValueError as problem:
            raise c.refuse(node, "this text as a number", f"{problem}") from problem
    if len(arguments) != 1 or not isinstance(arguments[0], Scalar | View | Lazy):
        what = f"`{described(kind)}`"
        raise c.wrong(node, what, arguments, "Convert one number or array")
    value = arguments[0]
    if isinstance(value, Scalar):
        return convert(c.b, real_number(c, node, value, kind), kind)
    if is_python(kind):
        hint = f"Use .astype({kind.__name__}) of the array"
        raise c.wrong(node, f"`{kind.__name__}`", [value], hint)
    return cast(value, kind)


def real_number(c: Context, node: ast.AST, value: Scalar, kind: Kind) -> Scalar:
    """A number that is complex only if the kind is.  Raises WrongOperand."""
    if category(value.kind) == "c" and category(kind) not in "cb":
        raise c.wrong(node, "a real number", [value], "Take its .real, or abs() of it")
    return value


def part(b: Any, name: str, value: Bound) -> Bound:
    """The real or imaginary part of numbers: ``re`` or ``im``."""
    whole = lazy(value)
    if category(whole.kind) != "c":
        return value if name == "re" else cast(known_zero(whole), whole.kind)
    is_python_s = is_python(whole.kind)
    kind = float if is_python_s else np.dtype(whole.kind.char.lower())

    def body(inner: Any, v: Sequence[Scalar]) -> Scalar:
        return Scalar(kind, complex_numbers.part(inner, name, v[0].ssa(inner)))

    if isinstance(value, Scalar):
        return body(b, [value])
    return composed(kind, whole.extents, [whole], body)


def known_zero(like: Lazy) -> Lazy:
    return composed(like.kind, like.extents, [like], lambda _, __: known(0))


def _part(name: str) -> Rule:
    def rule(c: Context, node: ast.AST, value: Bound) -> Bound:
        if not isinstance(value, Scalar | View | Lazy):
            raise c.wrong(node, "a part of a number", [value], "Use numbers")
        return part(c.b, name, value)

    return rule


def _angle(c: Context, node: ast.AST, value: Bound) -> Bound:
    parts = [_part(name)(c, node, value) for name in ("im", "re")]
    return elementwise(c, node, np.arctan2, parts, "`angle`")


def conjugated(c: Context, node: ast.AST, value: Bound) -> Bound:
    """The method of numbers and arrays."""
    return elementwise(c, node, np.conjugate, [value], "`conjugate`")


def _of_complex(ufunc: np.ufunc) -> Rule:
    """A function of ``cmath``."""

    def rule(c: Context, node: ast.AST, value: Bound) -> Bound:
        if not isinstance(value, Scalar):
            raise c.wrong(node, "a function of cmath", [value], "Use NumPy's")
        return apply(c.b, ufunc, [convert(c.b, value, complex)])

    return rule


def _of_floats(ufunc: np.ufunc, result: Kind = float) -> Rule:
    """A function of ``math`` on Python floats."""

    def rule(c: Context, node: ast.AST, *values: Bound) -> Bound:
        if len(values) != ufunc.nin or not all(isinstance(v, Scalar) for v in values):
            hint = f"Use numpy.{ufunc.__name__} of an array"
            raise c.wrong(node, f"`math.{ufunc.__name__}`", list(values), hint)
        numbers = [
            convert(c.b, real_number(c, node, v, float), float)
            for v in values
            if isinstance(v, Scalar)
        ]
        return convert(c.b, apply(c.b, ufunc, numbers), result)

    return rule


def _floor_like(ufunc: np.ufunc) -> Rule:
    """``math.floor`` and the like: integers stay unchanged."""

    def rule(c: Context, node: ast.AST, value: Bound) -> Bound:
        if isinstance(value, Scalar) and category(value.kind) in "iub":
            return convert(c.b, value, int)
        return _of_floats(ufunc, int)(c, node, value)

    return rule


def _rounded(c: Context, node: ast.AST, number: Bound, ndigits: Bound = None) -> Bound:
    """``round``: to an integer, or of NumPy's numbers as `numpy.round`."""
    if ndigits is None:
        return _floor_like(np.rint)(c, node, number)
    if not isinstance(number, Scalar):
        raise c.wrong(node, "`round`", [number], "Use numpy.round of an array")
    if number.kind is float:
        hint = "Use numpy.round, which scales, rounds and scales back"
        raise c.wrong(node, "`round` to decimals", [number], hint)
    if number.kind is int and constant_given(c, node, ndigits, "ndigits=") >= 0:
        return number
    return FUNCTIONS[np.round](c, node, number, ndigits)


def _divided(c: Context, node: ast.Call, *operands: Bound) -> Bound:
    """``numpy.divmod``."""
    both = np.floor_divide, np.remainder
    return tuple([of_numbers(c, node, ufunc, [*operands], {}) for ufunc in both])


def _math_only(name: str) -> Rule:
    """A function of ``math`` that NumPy does not have."""

    def rule(c: Context, node: ast.AST, value: Bound) -> Bound:
        if not isinstance(value, Scalar):
            raise c.wrong(node, f"`{name}`", [value], "Use it in a loop")
        number = convert(c.b, real_number(c, node, value, float), float).ssa(c.b)
        return Scalar(float, c.b.value(name, (number,), number.type))

    return rule


def _smallest(ufunc: np.ufunc, predicate: str) -> Rule:
    """``min`` and ``max``: the first extreme operand, as in Python."""

    def rule(c: Context, node: ast.AST, *values: Bound) -> Bound:
        if len(values) == 1 and is_tuple(values[0]):
            values = values[0]
        first = values[0] if len(values) == 1 else None
        if isinstance(first, View | Lazy) and len(first.extents) == 1:
            program = (
                python_math.smallest if predicate == "olt" else python_math.largest
            )
            closure = composed_functions.closure_of(program)
            return c.callees.inline(c, node, closure, (values, {}))
        if (
            not values
            or (len(values) == 1 and not isinstance(values[0], Scalar))
            or not all(isinstance(v, Scalar) for v in values)
        ):
            name = ufunc.__name__
            hint = f"Use numpy.{name} of arrays"
            if len(values) == 1:
                hint = f"Use numpy.{name[:3]} of the array"
            raise c.wrong(node, f"`{ufunc.__name__[:3]}`", list(values), hint)
        found = values[0]
        for other in values[1:]:
            found = pair(c, found, other)
        return found

    def pair(c: Context, one: Scalar, other: Scalar) -> Scalar:
        kind = _common(one.kind, other.kind)
        if category(kind) != "f":
            return convert(c.b, apply(c.b, ufunc, [one, other]), kind)
        x, y = (convert(c.b, v, kind).ssa(c.b) for v in (one, other))
        return Scalar(kind, chosen(c.b, compared(c.b, predicate, y, x), y, x))

    return rule


def _common(one: Kind, other: Kind) -> Kind:
    """The common kind of two numbers. Raises NoRow."""
    try:
        return joined(one, other)
    except TypeError:
        raise NoRow from None


def _absolute(c: Context, node: ast.Call, value: Bound) -> Bound:
    if not isinstance(value, Scalar | View | Lazy):
        raise c.wrong(node, "`abs`", [value], "Use numbers and arrays")
    return elementwise(c, node, np.absolute, [value], "`abs`")


def _power(c: Context, node: ast.AST, base: Bound, exponent: Bound) -> Bound:
    return combined(c, node, ast.Pow(), [base, exponent])


# -- arrays ----------------------------------------------------------------------------


def _made(number: Any) -> Rule:
    """``zeros``, ``ones`` and ``empty`` (None)."""

    def rule(c: Context, node: ast.AST, shape: Bound, dtype: Bound = None) -> Bound:
        view = allocated(
            c.b, dtype_given(c, node, dtype, float), shape_given(c, node, shape)
        )
        if number is not None:
            fill(c.b, view, known(number))
        return view

    return rule


def _alike(number: Any) -> Rule:
    """``zeros_like`` and the like."""

    def rule(c: Context, node: ast.AST, array: Bound, dtype: Bound = None) -> Bound:
        whole = array_given(c, node, array)
        view = allocated(c.b, dtype_given(c, node, dtype, whole.dtype), whole.extents)
        if number is not None:
            fill(c.b, view, known(number))
        return view

    return rule


def _full(
    c: Context, node: ast.AST, shape: Bound, fill_value: Bound, dtype: Bound = None
) -> Bound:
    number = number_given(c, node, fill_value)
    view = allocated(
        c.b, dtype_given(c, node, dtype, number.kind), shape_given(c, node, shape)
    )
    fill(c.b, view, number)
    return view


def _full_like(
    c: Context, node: ast.AST, a: Bound, fill_value: Bound, dtype: Bound = None
) -> Bound:
    view = _alike(None)(c, node, a, dtype)
    fill(c.b, view, number_given(c, node, fill_value))
    return view


def _copy(c: Context, node: ast.AST, array: Bound) -> Bound:
    return copied(c.b, array_given(c, node, array))


def _without_gaps(c: Context, node: ast.AST, a: Bound) -> Bound:
    """``ascontiguousarray``: the array itself if it has no gaps."""
    is_view = isinstance(a, View) and a.is_contiguous
    return a if is_view else _copy(c, node, a)


def _fill(c: Context, node: ast.AST, array: Bound, value: Bound) -> Bound:
    if not isinstance(array, View):
        raise c.wrong(node, "`fill`", [array], "Fill an array that is in memory")
    fill(c.b, array, number_given(c, node, value))
    return None


def _as_type(c: Context, node: ast.AST, array: Bound, dtype: Bound) -> Bound:
    whole = array_given(c, node, array)
    return renewed(whole, dtype_given(c, node, dtype, float))


def _nonzero(c: Context, node: ast.AST, array: Bound) -> Bound:
    return nonzero(c.b, array_given(c, node, array))


def _where(
    c: Context, node: ast.AST, test: Bound, yes: Bound = None, no: Bound = None
) -> Bound:
    if yes is None and no is None:
        return _nonzero(c, node, test)
    values: list[Any] = [test, yes, no]
    if not all(isinstance(v, Scalar | View | Lazy) for v in values):
        raise c.wrong(node, "`where`", values, "Use numbers and arrays")
    extents, arrays = broadcast([lazy(v) for v in values])
    kinds = [arrays[1].kind, arrays[2].kind]
    if {category(k) for k in kinds} == {"b"}:
        kind = np.dtype(bool)
    else:  # NumPy's type of a sum is that of the choice, but for bools
        kind = dtype_of(resolved(np.add, kinds)[1])

    def body(b: Any, parts: Sequence[Scalar]) -> Scalar:
        where = convert(b, parts[0], bool).ssa(b)
        x, y = (astype(b, v, kind).ssa(b) for v in parts[1:])
        return Scalar(kind, chosen(b, where, x, y))

    if not extents and all(isinstance(v, Scalar) for v in values):
        return body(c.b, [truth(c, node, test), *values[1:]])
    return composed(kind, extents, arrays, body)


_MATH = {
    name: getattr(np, n)
    for name, n in {
        **{
            n: n for n in "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan".split()
        },
        **{n: n for n in "sinh cosh tanh cbrt fabs fmod hypot copysign".split()},
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "asinh": "arcsinh",
        "acosh": "arccosh",
        "atanh": "arctanh",
        "atan2": "arctan2",
        "pow": "power",
    }.items()
    if hasattr(math, name)
}
FUNCTIONS: dict[Any, Rule] = {
    **{getattr(math, name): _of_floats(ufunc) for name, ufunc in _MATH.items()},
    math.floor: _floor_like(np.floor),
    math.ceil: _floor_like(np.ceil),
    math.trunc: _floor_like(np.trunc),
    builtins.round: _rounded,
    math.isnan: _of_floats(np.isnan, bool),
    math.isinf: _of_floats(np.isinf, bool),
    math.isfinite: _of_floats(np.isfinite, bool),
    math.erf: _math_only("math.erf"),
    math.erfc: _math_only("math.erfc"),
    builtins.abs: _absolute,
    builtins.min: _smallest(np.minimum, "olt"),
    builtins.max: _smallest(np.maximum, "ogt"),
    builtins.pow: _power,
    np.divmod: _divided,
    np.zeros: _made(0),
    np.ones: _made(1),
    np.empty: _made(None),
    np.ndarray: _made(None),
    np.full: _full,
    np.zeros_like: _alike(0),
    np.ones_like: _alike(1),
    np.empty_like: _alike(None),
    np.full_like: _full_like,
    np.copy: _copy,
    np.ascontiguousarray: _without_gaps,
    np.real: _part("re"),
    np.imag: _part("im"),
    np.angle: _angle,
    **{
        getattr(cmath, name): _of_complex(getattr(np, name))
        for name in "exp log sqrt sin cos tan tanh".split()
    },
    cmath.phase: _angle,
    conjugated: conjugated,
    np.where: _where,
    np.nonzero: _nonzero,
    _as_type: _as_type,
    _fill: _fill,
    **iterables.FUNCTIONS,
    **reduction_functions.FUNCTIONS,
    **shapes.FUNCTIONS,
    **creation.FUNCTIONS,
    **host_functions.FUNCTIONS,
    **composed_functions.FUNCTIONS,
    **queries.FUNCTIONS,
    **products.FUNCTIONS,
}
"""Callable functions besides elementwise ones, by the function object."""

_NAMED = (
    "sum prod min max any all mean std var argmin argmax cumsum cumprod dot"
    " nonzero round take put diagonal searchsorted argsort partition argpartition"
    " compress choose reshape ravel squeeze swapaxes repeat trace".split()
)
METHODS: dict[str, Any] = {
    **{name: getattr(np, name) for name in _NAMED},
    "copy": np.copy,
    "transpose": np.transpose,
    "clip": np.clip,
    "item": queries.item,
    "sort": host_functions.sort_in_place,
    "astype": _as_type,
    "fill": _fill,
    "flatten": shapes.flattened,
    **dict.fromkeys(("conj", "conjugate"), conjugated),
}
"""Methods of arrays, as functions."""
