"""Translates expressions and calls to numbers, arrays, tuples or Python objects."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from gpucodegen.ir.operation import Operation, Region, single_block
from gpucodegen.ir.types import I1
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import indexing, iterables
from gpucodegen.python.arrays import (
    Array,
    Lazy,
    View,
    lazy,
)
from gpucodegen.python.context import (
    Bound,
    Callee,
    Closure,
    Context,
    Rule,
    frozen,
)
from gpucodegen.python.elementwise import ROWS, apply
from gpucodegen.python.functions import (
    composed_functions,
    creation,
    mask_functions,
    numpy_functions,
    queries,
    shapes,
)
from gpucodegen.python.functions.host_functions import Formatted
from gpucodegen.python.functions.numpy_functions import FUNCTIONS
from gpucodegen.python.masks import Selected, settled
from gpucodegen.python.operators import (
    HINT,
    combined,
    truth,
)
from gpucodegen.python.range_checks import convert
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import ANY, Scalar, chosen, known, united
from gpucodegen.python.source import compiled_from
from gpucodegen.python.types import (
    Kind,
    category,
    is_python,
    joined,
    of_annotation,
)


def call(c: Context, evaluate: Any, node: ast.Call) -> Bound:
    if any(k.arg is None for k in node.keywords):
        raise c.refuse(node, "`**` in a call", "Pass the arguments one by one")
    made = _ufunc_method(c, evaluate, node)
    if made is not None:
        return made
    function, own = _called(c, evaluate, node)
    arguments = own + [part for a in node.args for part in _arguments(c, a)]
    named = {str(k.arg): settled(c.b, _argument(c, k.value)) for k in node.keywords}
    c.at(node)
    what = f"`{ast.unparse(node.func)}`"
    if any(isinstance(a, Selected) for a in arguments):
        made = mask_functions.of_selected(c, node, function, arguments, named)
        if made is not None:
            return made
        arguments = [settled(c.b, a) for a in arguments]
    if isinstance(function, np.ufunc) and function in ROWS:
        return numpy_functions.of_numbers(c, node, function, arguments, named)
    kind = of_annotation(function) if isinstance(function, type) else None
    if kind is not None:
        return numpy_functions.converted(c, node, kind, arguments)
    if composed_functions.is_composed(function) and function not in FUNCTIONS:
        function = composed_functions.closure_of(function)
    if isinstance(function, Closure):
        return c.callees.inline(c, node, function, (arguments, named))
    rule = FUNCTIONS.get(function) if callable(function) else None
    compiled = compiled_from(function) if rule is None else None
    if compiled is not None:
        callee = Callee(compiled)
        values = _in_order(c, node, callee, arguments, named)
        return c.callees.call(c, node, callee, values)
    if rule is None:
        raise c.refuse(node, f"a call of {what}", HINT_OF_CALLS)
    out = named.pop("out", None) if numpy_functions.takes_out(function) else None
    try:
        with c.operands(node, what, arguments):
            made = rule(c, node, *arguments, **named)
        if out is None:
            return made
        ranks = [len(queries.shape_of(c, node, v)) for v in (out, made)]
        if ranks[0] != ranks[1]:
            raise c.wrong(node, "out=", [out], f"Give {ranks[1]} dimensions to it")
        return numpy_functions.stored(c, node, out, made)
    except TypeError as problem:
        if "argument" not in str(problem):
            raise
        hint = "Leave the other arguments out"
        raise c.refuse(node, f"these arguments of {what}", hint) from problem


def _arguments(c: Context, node: ast.expr) -> Sequence[Bound]:
    """An argument, or those of a tuple behind ``*``."""
    if not isinstance(node, ast.Starred):
        return [_argument(c, node)]
    value = evaluate(c, node.value)
    if not is_tuple(value):
        raise c.wrong(node, "`*`", [value], "Write the parts one by one")
    return value


def _argument(c: Context, node: ast.expr) -> Bound:
    """An argument; NumPy takes lists for tuples."""
    if isinstance(node, ast.List | ast.Tuple):
        return tuple([v for part in node.elts for v in _arguments(c, part)])
    return operand(c, node)


def _ufunc_method(c: Context, evaluate: Any, node: ast.Call) -> Bound:
    """``ufunc.outer``, ``reduce``, ``accumulate`` and ``at``; None for other calls."""
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr not in _METHODS:
        return None
    ufunc = evaluate(c, called.value)
    if not isinstance(ufunc, np.ufunc) or ufunc not in ROWS:
        return None
    arguments = [settled(c.b, _argument(c, a)) for a in node.args]
    named = {str(k.arg): settled(c.b, _argument(c, k.value)) for k in node.keywords}
    c.at(node)
    return numpy_functions.ufunc_method(c, node, ufunc, called.attr, arguments, named)


_METHODS = ("outer", "at", "reduce", "accumulate")


def _called(c: Context, evaluate: Any, node: ast.Call) -> tuple[Any, list[Bound]]:
    """The called object, and the array whose method it is."""
    if isinstance(node.func, ast.Attribute):
        base = operand(c, node.func.value)
        of_numbers = ("conj", "conjugate", "item", "round", "astype")
        if isinstance(base, Scalar) and node.func.attr in of_numbers:
            return numpy_functions.METHODS[node.func.attr], [base]
        if isinstance(base, View | Lazy | Selected):
            if node.func.attr not in numpy_functions.METHODS:
                hint = f"Arrays have {', '.join(sorted(numpy_functions.METHODS))}"
                raise c.refuse(node, f"the method '{node.func.attr}'", hint)
            return numpy_functions.METHODS[node.func.attr], [base]
    return evaluate(c, node.func), []


def _in_order(
    c: Context,
    node: ast.AST,
    callee: Callee,
    arguments: list[Bound],
    named: Mapping[str, Bound],
) -> list[Bound]:
    with c.signature_errors(node, callee):
        bound = callee.signature.bind(*arguments, **named)
    bound.apply_defaults()
    return [frozen(value) for value in bound.arguments.values()]


HINT_OF_CALLS = (
    "Write it as loops, or see docs/python.md for the functions that there are"
)


def evaluate(c: Context, node: ast.expr) -> Bound:
    """The value of an expression."""
    return settled(c.b, operand(c, node))


def operand(c: Context, node: ast.expr) -> Bound:
    """The value of an expression, which may still be tied to a mask."""
    rule = _RULES.get(type(node))
    if rule is None:
        what = f"`{ast.unparse(node):.60}` ({type(node).__name__})"
        raise c.refuse(node, what, _HINTS.get(type(node), HINT))
    c.at(node)
    value = rule(c, node)
    c.at(node)
    return value


_HINTS: dict[type[ast.AST], str] = {
    ast.ListComp: "Fill an array of numpy.empty in a loop",
    ast.GeneratorExp: "Add up in a loop, or use numpy.sum of an array",
    ast.List: "Use a tuple of numbers, or an array of numpy.empty",
    ast.Dict: "Use arrays, indexed by integers",
}


def scalar(c: Context, node: ast.expr, what: str) -> Scalar:
    """The value of an expression that must be a number."""
    value = evaluate(c, node)
    if isinstance(value, Scalar):
        return value
    raise c.wrong(node, what, [value], "Use a number, such as an element of the array")


def _constant(c: Context, node: ast.Constant) -> Bound:
    if type(node.value) is int and node.value >= 1 << 64:
        raise c.refuse(node, "integers of more than 64 bits", "Use a float")
    return frozen(node.value)


def _name(c: Context, node: ast.Name) -> Bound:
    value = c.lookup(node)
    if isinstance(value, np.ndarray):
        hint = f"Pass '{node.id}' as an argument"
        raise c.refuse(node, f"the global array '{node.id}'", hint)
    return value


def _tuple(c: Context, node: ast.Tuple) -> Bound:
    parts = [part for element in node.elts for part in _arguments(c, element)]
    return tuple([settled(c.b, part) for part in parts])


def _binary(c: Context, node: ast.BinOp) -> Bound:
    values = [operand(c, node.left), operand(c, node.right)]
    c.at(node)
    return combined(c, node, node.op, values)


def _unary(c: Context, node: ast.UnaryOp) -> Bound:
    if isinstance(node.op, ast.Not):
        return apply(c.b, np.logical_not, [condition(c, node.operand)])
    return combined(c, node, node.op, [operand(c, node.operand)])


def condition(c: Context, node: ast.expr) -> Scalar:
    """A truth value; ``and`` and ``or`` combine the truth of their operands."""
    if isinstance(node, ast.BoolOp):
        makers = [partial(condition, c, operand) for operand in node.values]
        return _joined(c, node, isinstance(node.op, ast.And), makers)
    return truth(c, node, evaluate(c, node))


def _compare(c: Context, node: ast.Compare) -> Bound:
    """``a < b < c`` is ``a < b and b < c``, with ``b`` evaluated once."""
    left = evaluate(c, node.left)
    if len(node.ops) == 1:
        right = evaluate(c, node.comparators[0])
        c.at(node)
        return combined(c, node, node.ops[0], [left, right])
    values = [left]

    def compared(number: int) -> Bound:
        values.append(evaluate(c, node.comparators[number]))
        c.at(node)
        return combined(c, node, node.ops[number], values[number : number + 2])

    makers = [partial(compared, number) for number in range(len(node.ops))]
    return _joined(c, node, True, makers)


def _logical(c: Context, node: ast.BoolOp) -> Bound:
    """``and`` and ``or`` return one of their operands."""
    makers = [partial(evaluate, c, operand) for operand in node.values]
    return _joined(c, node, isinstance(node.op, ast.And), makers)


def _joined(
    c: Context, node: ast.expr, is_and: bool, makers: Sequence[Callable[[], Bound]]
) -> Any:
    """The operand that decides an ``and`` or ``or``.

    An operand on the right is evaluated only if the previous ones do not decide, unless
    its evaluation has no visible effect.
    """
    found = makers[0]()
    if len(makers) == 1:
        return found
    test = truth(c, node, found)
    if test.value is None and test.constant is not is_and:
        return found
    if test.value is None:
        return _joined(c, node, is_and, makers[1:])
    with c.block() as inner:
        other = _joined(c, node, is_and, makers[1:])
    kind = _common(c, node, [found, other])
    with c.block() as skipped:
        same = known(not is_and) if category(kind) == "b" else found
        value = convert(skipped, same, kind).ssa(skipped)
    arms = (inner, convert(inner, other, kind).ssa(inner)), (skipped, value)
    first, second = arms if is_and else arms[::-1]
    return Scalar(kind, _either(c, test, first, second))


def _common(c: Context, node: ast.expr, values: list[Any]) -> Kind:
    """The common kind of two numbers."""
    if not all(isinstance(v, Scalar) for v in values):
        raise c.wrong(node, "a conditional expression", [*values], "Use numbers")
    try:
        return joined(values[0].kind, values[1].kind)
    except TypeError:
        hint = "Convert both to one type"
        raise c.wrong(node, "a conditional expression", [*values], hint) from None


Arm = tuple[OperationList, Any]


def _either(c: Context, condition: Scalar, yes: Arm, no: Arm) -> Any:
    """One of two values: a select if neither has side effects, else ``scf.if``."""
    where = condition.ssa(c.b)
    if all(is_harmless(ops.operations) for ops, _ in (yes, no)):
        for ops, _ in (yes, no):
            c.b.operations += ops.operations
        if yes[1].type == I1:
            return _of_truth(c, where, yes, no)
        return chosen(c.b, where, yes[1], no[1])
    regions: list[Region] = []
    for ops, value in (yes, no):
        ops.add("scf.yield", (value,))
        regions.append(single_block(ops.operations))
    return c.b.value("scf.if", (where,), yes[1].type, {}, regions)


def _of_truth(c: Context, where: Any, yes: Arm, no: Arm) -> Any:
    """``and`` and ``or`` of truth values; conditions on indices stay affine."""
    for arm, other, name, value in (
        (no, yes, "arith.andi", False),
        (yes, no, "arith.ori", True),
    ):
        if _known_truth(arm) is value:
            return c.b.value(name, (where, other[1]), I1)
    return chosen(c.b, where, yes[1], no[1])


def _known_truth(arm: Arm) -> bool | None:
    """The constant that an arm yields, if it does nothing else."""
    operations, value = arm[0].operations, arm[1]
    if len(operations) != 1 or operations[0].name != "arith.constant":
        return None
    return bool(operations[0].integer("value")) if value.type == I1 else None


def is_harmless(operations: Sequence[Operation]) -> bool:
    """Whether operations can run speculatively: no access, no division."""
    return all(
        (op.dialect in ("arith", "math") and not _divides(op.name))
        or op.name == "memref.dim"
        for op in operations
    )


def _divides(name: str) -> bool:
    return name.endswith("i") and ("div" in name or "rem" in name)


def _conditional(c: Context, node: ast.IfExp) -> Bound:
    test = condition(c, node.test)
    if test.value is None:
        return evaluate(c, node.body if test.constant else node.orelse)
    arms: list[tuple[OperationList, Scalar]] = []
    for part in (node.body, node.orelse):
        with c.block() as inner:
            arms.append((inner, scalar(c, part, "a conditional expression")))
    c.at(node)
    kind = _common(c, node, [value for _, value in arms])
    made = [(ops, convert(ops, value, kind).ssa(ops)) for ops, value in arms]
    limits = united([value for _, value in arms]) if kind is int else ANY
    return Scalar(kind, _either(c, test, made[0], made[1]), limits=limits)


def _grid(c: Context, node: ast.Subscript, *, is_open: bool) -> Bound:
    """``np.mgrid[a:b, c:d]``."""
    inner = node.slice
    entries = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    ranges: list[Any] = []
    for entry in entries:
        if not isinstance(entry, ast.Slice) or entry.upper is None:
            raise c.refuse(node, "this index of a grid", "Write slices with ends")
        ends = (entry.lower, entry.upper, entry.step)
        ranges.append([None if e is None else evaluate(c, e) for e in ends])
    return creation.grid(c, node, ranges, is_open=is_open)


def _subscript(c: Context, node: ast.Subscript) -> Bound:
    base = evaluate(c, node.value)
    if base is np.mgrid or base is np.ogrid:
        return _grid(c, node, is_open=base is np.ogrid)
    if is_tuple(base) and isinstance(node.slice, ast.Slice):
        return base[_constant_slice(c, node.slice)]
    if isinstance(base, iterables.Range | iterables.Zipped) or is_tuple(base):
        return iterables.item(c, node, base, scalar(c, node.slice, "an index"))
    if not isinstance(base, View | Lazy):
        raise c.wrong(node, "a subscript", [base], "Index an array or a tuple")
    where = indexing.subscript(c, evaluate, base, node)
    c.at(node)
    return indexing.read(c, base, where)


def _constant_slice(c: Context, node: ast.Slice) -> slice:
    ends = (node.lower, node.upper, node.step)
    found = [None if e is None else scalar(c, e, "a slice of a tuple") for e in ends]
    if any(e is not None and e.value is not None for e in found):
        raise c.refuse(node, "a slice of a tuple that is computed", "Use numbers")
    return slice(*(None if e is None else e.constant for e in found))


def _attribute(c: Context, node: ast.Attribute) -> Bound:
    base = operand(c, node.value)
    if isinstance(base, Selected):
        if node.attr == "size":
            return base.count(c.b)
        base = settled(c.b, base)
    if isinstance(base, View) and node.attr == "flat":
        if not base.is_contiguous:
            hint = "Read a copy, which .ravel() makes, or write through indices"
            raise c.wrong(node, "`.flat` of an array with gaps", [base], hint)
        return shapes.raveled(c, node, base)
    if isinstance(base, View | Lazy):
        rule = _ATTRIBUTES.get(node.attr)
        if rule is None:
            hint = f"Arrays have {', '.join(_ATTRIBUTES)}, flat, and methods"
            raise c.refuse(node, f"the attribute '{node.attr}' of an array", hint)
        return rule(c, base)
    if isinstance(base, Scalar) and node.attr in ("real", "imag"):
        return FUNCTIONS[getattr(np, node.attr)](c, node, base)
    if isinstance(base, Scalar) and not is_python(base.kind) and node.attr == "dtype":
        return base.kind
    known_types: Any = ModuleType | type | np.dtype | np.finfo | np.iinfo
    if isinstance(base, known_types) and hasattr(base, node.attr):
        return frozen(getattr(base, node.attr))
    raise c.refuse(node, f"the attribute '{node.attr}'", HINT)


def _size(c: Context, array: Array) -> Bound:
    found = known(1)
    for extent in array.extents:
        found = apply(c.b, np.multiply, [found, extent])
    return found


def _shape(_: Context, array: Array) -> Bound:
    return array.extents


def _rank(_: Context, array: Array) -> Bound:
    return known(len(array.extents))


def _real(c: Context, array: Array) -> Bound:
    return numpy_functions.part(c.b, "re", array)


def _imaginary(c: Context, array: Array) -> Bound:
    return numpy_functions.part(c.b, "im", array)


def _dtype(_: Context, array: Array) -> Bound:
    return array.dtype


def _transposed(_: Context, array: Array) -> Bound:
    return lazy(array).permuted(range(len(array.extents))[::-1])


def _size_of_element(_: Context, array: Array) -> Bound:
    return known(array.dtype.itemsize)


def _bytes(c: Context, array: Array) -> Bound:
    return apply(c.b, np.multiply, [_size(c, array), known(array.dtype.itemsize)])


_ATTRIBUTES: dict[str, Callable[[Context, Array], Bound]] = {
    "shape": _shape,
    "ndim": _rank,
    "size": _size,
    "dtype": _dtype,
    "T": _transposed,
    "real": _real,
    "imag": _imaginary,
    "itemsize": _size_of_element,
    "nbytes": _bytes,
}


def closure(c: Context, node: ast.FunctionDef | ast.Lambda, name: str) -> Closure:
    """A nested function; its defaults have their values of this line."""
    given = node.args
    if given.vararg or given.kwarg:
        raise c.refuse(node, "`*` and `**` among the parameters", "Name each of them")
    positional = [*given.posonlyargs, *given.args]
    missing = [None] * (len(positional) - len(given.defaults))
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    rows = [
        *(
            (a, d, both[0])
            for a, d in zip(positional, [*missing, *given.defaults], strict=True)
        ),
        *(
            (a, d, both[1])
            for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        ),
    ]
    parameters = [
        inspect.Parameter(
            a.arg,
            kind,
            default=inspect.Parameter.empty if d is None else evaluate(c, d),
        )
        for a, d, kind in rows
    ]
    source = replace(c.source, tree=node)
    return Closure(name, inspect.Signature(parameters), source, c.names, c)


def _lambda(c: Context, node: ast.Lambda) -> Bound:
    return closure(c, node, "lambda")


def _formatted(c: Context, node: ast.JoinedStr) -> Bound:
    """An f-string, for `print`."""
    parts: list[tuple[Bound, str]] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append((part.value, ""))
            continue
        assert isinstance(part, ast.FormattedValue)
        spec = "" if part.conversion < 0 else f"!{chr(part.conversion)}"
        if isinstance(part.format_spec, ast.JoinedStr):
            try:
                spec += str(ast.literal_eval(part.format_spec.values[0]))
            except ValueError as problem:
                raise c.refuse(node, "a computed format", "Write it out") from problem
        parts.append((evaluate(c, part.value), spec))
    return Formatted(tuple(parts))


def _comprehension(c: Context, node: ast.ListComp | ast.GeneratorExp) -> Bound:
    """A tuple: one item for each of those that are known."""
    saved, made = dict(c.variables), list[Bound]()

    def collect(generators: Sequence[ast.comprehension]) -> None:
        if not generators:
            made.append(evaluate(c, node.elt))
            return
        generator, *inner = generators
        items = iterables.known_items(c, node, evaluate(c, generator.iter))
        if items is None:
            what = f"`{ast.unparse(node):.60}` ({type(node).__name__})"
            raise c.refuse(node, what, _HINTS[type(node)])
        for item in items:
            bind(c, generator.target, item)
            tests = [condition(c, test) for test in generator.ifs]
            if any(test.value is not None for test in tests):
                hint = _HINTS[ast.ListComp]
                raise c.refuse(node, "a condition that is not known", hint)
            if all(test.constant for test in tests):
                collect(inner)

    collect(node.generators)
    c.variables = saved
    return tuple(made)


def bind(c: Context, target: ast.expr, value: Bound) -> None:
    """Give names of a comprehension their values."""
    if isinstance(target, ast.Name):
        c.variables[target.id] = value
        return
    names = target.elts if isinstance(target, ast.Tuple) else []
    if not is_tuple(value) or len(names) != len(value):
        raise c.refuse(target, "these names of a comprehension", HINT)
    for part, own in zip(names, value, strict=True):
        bind(c, part, own)


def _call(c: Context, node: ast.Call) -> Bound:
    return call(c, evaluate, node)


_RULES: dict[type[ast.AST], Rule] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logical,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Lambda: _lambda,
    ast.JoinedStr: _formatted,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}
