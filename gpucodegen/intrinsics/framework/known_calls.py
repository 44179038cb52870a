"""Functions whose answers for some types of arguments are remembered.

Numba rates all candidates of a function at each of its calls, in the inference of types
and again when it builds code.  A kernel adds two integers hundreds of times.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.datamodel import models, registry


class KnownCalls(types.Function):
    """A function of a typing context that does not change while it lives."""

    def __init__(self, template: Any) -> None:
        super().__init__(template)
        self._known: dict[tuple[Any, ...], Any] = {}

    def augment(self, other: Any) -> KnownCalls | None:
        """Both functions in one, where they have the same key."""
        if not isinstance(other, types.Function):
            return None
        if other.typing_key != self.typing_key:
            return None
        return KnownCalls(self.templates + other.templates)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature for arguments; calls with keywords are always asked."""
        if kws:
            return super().get_call_type(context, args, kws)
        if args not in self._known:
            self._known[args] = super().get_call_type(context, args, kws)
        return self._known[args]


registry.register_default(KnownCalls)(models.OpaqueModel)
"""Code that Numba compiles into a kernel may hold a function in a variable."""


def known(value: Any) -> Any:
    """What a context keeps of a function; anything else stays as it is."""
    return KnownCalls(value.templates) if type(value) is types.Function else value
