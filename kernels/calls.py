"""Calls of ready-made functions for operands of shapes that were seen before.

Comes in: a compiled function of operands and a result.  Goes out: the result; later
calls that allocate it are one launch, on addresses.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpucodegen.calls.repeated import required_target, unlike
from gpucodegen.kernels.arrays import Array, ArrayT, empty
from gpucodegen.program import Function

if TYPE_CHECKING:
    from gpucodegen.calls.direct import Direct

MAX_CALLS = 1024
"""Forms of calls that a function remembers."""


def form_of(a: Array, b: Array, *options: object) -> Hashable:
    """What decides over a call but addresses: all that its preparation depends on.

    >>> import numpy as np
    >>> a, b = np.zeros((2, 3), "f4"), np.ones((2, 3), "f4")
    >>> form_of(a, b, "auto") == form_of(b, a, "auto") != form_of(a, b.T, "auto")
    True
    """
    return required_target(), _layout(a), _layout(b), options


def _layout(array: Array) -> Hashable:
    """The type alone of what is no array: who prepares its call refuses it."""
    try:
        return type(array), array.shape, array.strides, array.dtype
    except Exception:  # noqa: BLE001 - whatever other libraries raise
        return type(array)


@dataclass(slots=True)
class Call:
    """A function of operands of one form: their library, and the result's shape.

    ``turned``: the function takes the transposes of operands, which are contiguous.
    ``again``: a call of these operands, without a place for the result.
    """

    library: Any
    function: Function
    shape: tuple[int, ...]
    turned: Sequence[bool] = ()
    again: Direct = unlike

    def __call__(self, operands: Sequence[ArrayT], out: ArrayT | None) -> ArrayT:
        """Run; operands that are not contiguous are copied first."""
        if self.turned:
            pairs = zip(operands, self.turned, strict=True)
            operands = [a.T if turned else a for a, turned in pairs]
        given = [*map(self.library.ascontiguousarray, operands)]
        done = self.again(*given) if out is None else NotImplemented
        if done is not NotImplemented:
            return done
        dtype = given[0].dtype
        result: ArrayT = empty(self.library, self.shape, dtype) if out is None else out
        self.function(*given, result)
        if out is None:
            self.again = self.function.again(*given, result) or unlike
        return result


@dataclass(slots=True)
class Calls:
    """Calls by their form, forgotten when there are too many, and the last ones.

    ``last``: per options, what the last call of operands as they are has become.
    """

    known: dict[Hashable, Call] = field(default_factory=dict[Hashable, Call])
    last: dict[Hashable, Direct] = field(default_factory=dict[Hashable, "Direct"])

    def repeated(self, options: Hashable, a: object, b: object) -> Any:
        """The result of a call like the last one, `NotImplemented` of any other."""
        return self.last.get(options, unlike)(a, b)

    def keep(self, form: Hashable, call: Call) -> Call:
        """Remember a call."""
        if len(self.known) >= MAX_CALLS:
            self.known.clear()
            self.last.clear()
        self.known[form] = call
        return call

    def run(
        self,
        options: Hashable,
        call: Call,
        operands: Sequence[ArrayT],
        out: ArrayT | None,
    ) -> ArrayT:
        """The result of a call with these options."""
        result = call(operands, out)
        self.last[options] = unlike if call.turned else call.again
        return result
