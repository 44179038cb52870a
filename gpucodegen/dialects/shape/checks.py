"""Rules of shape operations: errors are not lost, bodies fit."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework.definition import Check
from gpucodegen.dialects.framework.rules import check_no_arguments, require
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shape.syntax import SHAPE, SIZE, VALUE_SHAPE, extents_of
from gpucodegen.dialects.shared.yields import check_yield
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import INDEX, TensorType

_FALLIBLE = (SHAPE, SIZE, VALUE_SHAPE)


def check_errors_kept(o: Operation) -> None:
    """If an operand can hold an error, so can the result."""
    fallible = [v.type for v in o.operands if v.type in _FALLIBLE]
    for result in o.results:
        require(
            not fallible or result.type in _FALLIBLE,
            o,
            f"loses the error that {(fallible or [''])[0]} may hold in {result.type}",
            "Make the result a !shape.shape or !shape.size",
        )


def check_extremum(o: Operation) -> None:
    """The greater or smaller of two shapes is a shape, of two sizes a size."""
    (lhs, rhs), (result,) = o.operands, o.results
    if lhs.type == rhs.type != result.type:
        raise errors.TypesDiffer(
            o.location,
            operation=o.name,
            first="each operand",
            first_type=lhs.type,
            second="the result",
            second_type=result.type,
        )


def at_least(count: int) -> Check:
    """So many operands or more."""

    def check(o: Operation) -> None:
        if len(o.operands) < count:
            raise errors.WrongOperandCount(
                o.location,
                operation=o.name,
                expected=f"at least {count}",
                actual=len(o.operands),
            )

    return check


def check_const_shape(o: Operation) -> None:
    """A tensor of extents has as many as there are numbers."""
    ty, count = o.results[0].type, len(extents_of(o))
    fits = not isinstance(ty, TensorType) or ty.shape in ((count,), (None,))
    require(fits, o, f"{count} extents for {ty}", "Write one number per element")


def check_assuming(o: Operation) -> None:
    """What the region yields are the results."""
    check_no_arguments(o)
    check_yield(o, [v.type for v in o.results], "shape.assuming_yield")


def check_reduce(o: Operation) -> None:
    """The body takes a position, an extent and what was found so far."""
    shape, *start = (v.type for v in o.operands)
    extent = SIZE if shape == SHAPE else INDEX
    expected = [INDEX, extent, *start]
    (block,) = o.regions[0].blocks
    actual = [a.type for a in block.arguments]
    require(
        actual == expected,
        o,
        f"the body takes ({', '.join(map(str, actual))})",
        f"Let it take ({', '.join(map(str, expected))})",
    )
    check_yield(o, start, "shape.yield")


def check_func(o: Operation) -> None:
    """Arguments and returned values fit the signature."""
    function = Function(o)
    if function.is_external:
        return
    arguments = tuple(a.type for a in function.arguments)
    require(
        arguments == function.type.inputs,
        o,
        f"the body takes ({', '.join(map(str, arguments))})",
        f"Let it take the arguments of {function.type}",
    )
    check_yield(o, function.result_types, "shape.return")
