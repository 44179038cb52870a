"""What the compilers of kernels have in common: types told once, code looked up once.

Each of them is a target of Numba's with scalars, pointers and tiles, and no arrays.
"""

from __future__ import annotations

from typing import Any

from numba.core import types, typing
from numba.core.base import BaseContext
from numba.core.cpu import CPUTargetOptions
from numba.core.descriptors import TargetDescriptor

from gpucodegen.intrinsics.framework.known_calls import KnownCalls, known


class KnownTypes(typing.BaseContext):
    """Types of calls; those of one function are told once."""

    def insert_global(self, gv: Any, gty: Any) -> None:
        """Let calls of a function be typed once."""
        super().insert_global(gv, known(gty))


class KnownCode(BaseContext):
    """What builds the code of calls, looked up once for each set of flags."""

    def __init__(self, typing_context: Any, target: str) -> None:
        self._made: dict[tuple[Any, Any], Any] = {}
        self._made_with: dict[frozenset[str], dict[tuple[Any, Any], Any]] = {}
        super().__init__(typing_context, target)

    def subtarget(self, **options: Any) -> Any:
        """A context with other flags: what builds code may ask for those."""
        made = super().subtarget(**options)
        flags = frozenset(made.fastmath.flags if made.fastmath else ())
        made._made = self._made_with.setdefault(flags, {})  # noqa: SLF001 - our own
        return made

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """What builds the code of a call, looked up once for built-in functions."""
        if not isinstance(fn, KnownCalls):
            return super().get_function(fn, sig, _firstcall)
        if (fn, sig) not in self._made:
            self._made[fn, sig] = super().get_function(fn, sig, _firstcall)
        return self._made[fn, sig]

    def cast(self, builder: Any, val: Any, fromty: Any, toty: Any) -> Any:
        """A conversion; a literal is a value of the type that it is a literal of."""
        is_number = isinstance(fromty, types.IntegerLiteral)
        given = fromty.literal_type if is_number else fromty
        return super().cast(builder, val, given, toty)


class Target(TargetDescriptor):
    """The one context of each kind; they live as long as the process."""

    options = CPUTargetOptions

    def __init__(self, name: str, typing_context: Any, code: type[KnownCode]) -> None:
        super().__init__(name)
        self._typing_context = typing_context
        self._target_context = code(typing_context, name)

    @property
    def typing_context(self) -> Any:
        """What tells types."""
        return self._typing_context

    @property
    def target_context(self) -> Any:
        """What makes code."""
        return self._target_context
