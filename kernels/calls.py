"""Ready-made functions called again: by the form of their operands, without checks.

Comes in: the operands of a call, and its options.  Goes out: the program's function,
prepared once for a form; and for calls like the last ones what their plan has become in
machine code, with a new result.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpucodegen.calls.function import Function
from gpucodegen.calls.launch import Entry, unlike
from gpucodegen.kernels.arrays import ArrayT, empty

MAX_CALLS = 1024
"""Forms of calls that a function remembers."""


@dataclass(slots=True)
class KernelCall:
    """A function of operands of one form: their library, and the result's shape.

    ``turned``: the function takes the transposes of operands, which are contiguous.
    ``again``: a call of these operands, without a place for the result.
    """

    library: Any
    function: Function
    shape: tuple[int, ...]
    turned: Sequence[bool] = ()
    again: Entry = unlike

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
            self.again = self.function.again(*given, result)
        return result


@dataclass(slots=True)
class Calls:
    """Calls by their form, forgotten when there are too many, and the last ones.

    ``last``: per options, what the last call of operands as they are has become.
    """

    known: dict[Hashable, KernelCall] = field(
        default_factory=dict[Hashable, KernelCall]
    )
    last: dict[Hashable, Entry] = field(default_factory=dict[Hashable, "Entry"])

    def repeated(self, options: Hashable, a: object, b: object) -> Any:
        """The result of a call like the last one, `NotImplemented` of any other."""
        return self.last.get(options, unlike)(a, b)

    def keep(self, form: Hashable, call: KernelCall) -> KernelCall:
        """Remember a call."""
        if len(self.known) >= MAX_CALLS:
            self.known.clear()
            self.last.clear()
        self.known[form] = call
        return call

    def run(
        self,
        options: Hashable,
        call: KernelCall,
        operands: Sequence[ArrayT],
        out: ArrayT | None,
    ) -> ArrayT:
        """The result of a call with these options."""
        result = call(operands, out)
        self.last[options] = unlike if call.turned else call.again
        return result
