"""Reaching definitions of the variables of a kernel, each with its type.

Numba gives one type to all definitions of a variable that reach a common use (a web,
see `framework.pipeline.ValueNames`).  Here a use has the type of the definitions that
reach it: `Reaching` holds them, a branch joins two sets, and a loop adds those of its
end to those of its beginning, which is checked at the end of the loop.  Where Numba
would convert a definition to the type of another one, `MixedTypes` is raised.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from numba.core import types

from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from llvmlite import ir


class MixedTypes(Exception):
    """Definitions of different types reach one use of a variable."""


@dataclass(slots=True, eq=False)
class Definition:
    """One assignment of a variable.

    ``place``: its value, or the slot that holds it, if the variable is in memory.
    ``is_literal``: a use took it as a literal, so no other definition reaches that use.
    """

    type: Any
    place: Any
    is_literal: bool = False


@dataclass(slots=True, eq=False)
class Loop:
    """A loop that is being translated.

    ``read``: variables that were read before the loop assigned them, so definitions at
    its end reach this use.  ``left``: the variables at each ``break``.
    """

    end: ir.Block
    read: set[str] = field(default_factory=set[str])
    left: list[Names] = field(default_factory=list[Any])


@dataclass(frozen=True, slots=True)
class Reaching:
    """The definitions of a variable that reach a place.

    ``loops``: the loops around it whose ends may add definitions.
    """

    definitions: frozenset[Definition]
    loops: frozenset[Loop] = frozenset()

    def type_of(self, name: str) -> Any:
        """The common type.  Raises MixedTypes."""
        found = {types.unliteral(each.type) for each in self.definitions}
        if len(found) > 1:
            raise MixedTypes(f"variable {name} has several types")
        if len(self.definitions) > 1 or self.loops:
            if any(each.is_literal for each in self.definitions):
                raise MixedTypes(f"variable {name} is a literal in one place only")
            return found.pop()
        (only,) = self.definitions
        only.is_literal = isinstance(only.type, types.Literal)
        return only.type

    def check_loop(self, name: str) -> None:
        """Check a use in a loop, which took no literal.  Raises MixedTypes."""
        if len(self.definitions) > 1:
            self.type_of(name)
        elif any(isinstance(each.type, types.Literal) for each in self.definitions):
            raise MixedTypes(f"variable {name} is a literal that a loop leaves alone")

    def inside(self, loop: Loop) -> Reaching:
        """The definitions at the beginning of a loop that assigns the variable."""
        return Reaching(self.definitions, self.loops | {loop})

    def outside(self, loop: Loop) -> Reaching:
        """The definitions behind a loop, whose end adds no more."""
        return Reaching(self.definitions, self.loops - {loop})

    def joined(self, other: Reaching) -> Reaching:
        """The definitions that reach a place by either of two ways."""
        together = self.definitions | other.definitions
        return Reaching(together, self.loops | other.loops)


Names = dict[str, Reaching]


def joined(first: Names | None, second: Names | None) -> Names | None:
    """The variables where two ways meet; None is a way that nothing takes.

    A variable that only one way assigns has no value on the other, as in Numba.
    """
    if first is None or second is None:
        return second if first is None else first
    result = {**first, **second}
    for name in first.keys() & second.keys():
        if first[name] is not second[name]:
            result[name] = first[name].joined(second[name])
    return result
