"""Calls with copies of arrays whose strides no kernel supports.

Tensors are values, and kernels read them as row-major. Kernels are compiled for the
strides of a memref, unless the function passes it on as a memref of another layout;
then the call works on a contiguous copy and copies written arguments back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from gpucodegen import errors

Called = Callable[[tuple[Any, ...]], tuple[Any, Sequence[bool]]]
"""A call that also returns which arguments were written."""


def on_copies(
    call: Called, arguments: tuple[Any, ...], places: Sequence[int]
) -> Callable[[], Any]:
    """A call with contiguous copies of the arguments at these places.

    >>> import numpy as np
    >>> a = np.arange(4.0)
    >>> def negate(given):
    ...     np.negative(given[0], out=given[0])
    ...     return given[0], (True,)
    >>> on_copies(negate, (a[::2],), (0,))().base is a, a.tolist()
    (True, [-0.0, 1.0, -2.0, 3.0])
    """

    def run() -> Any:
        held = list(arguments)
        for n in places:
            held[n] = arguments[n].copy(order="C")
        results, written = call(tuple(held))
        for n in places:
            if written[n]:
                arguments[n][...] = held[n]
        return _with_arguments(
            results, dict(zip(map(id, held), arguments, strict=True))
        )

    return run


def _with_arguments(results: Any, given: dict[int, Any]) -> Any:
    """Results, with the original arguments in place of their copies."""
    if isinstance(results, tuple):
        several = cast("tuple[Any, ...]", results)
        return tuple(given.get(id(each), each) for each in several)
    return given.get(id(results), results)


def warn(function: str, argument: str, strides: Sequence[int], reason: str) -> None:
    """Warn that every call copies an argument."""
    errors.tell(
        errors.ArgumentCopied(
            function=function, argument=argument, strides=strides, reason=reason
        )
    )
