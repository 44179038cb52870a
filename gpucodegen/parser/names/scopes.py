"""Names in the text: blocks, and SSA values, usable before their definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Label, Value


@dataclass(slots=True)
class Forward:
    """A value used before its definition; the definition takes over the value."""

    value: Value
    start: int

    def settle(self, location: Location) -> Value:
        """The value, now located at its definition."""
        object.__setattr__(self.value, "location", location)
        return self.value


@dataclass(slots=True)
class Isolated:
    """The names visible inside one operation that is isolated from above."""

    values: dict[str, tuple[Value, ...]] = field(
        default_factory=dict[str, tuple[Value, ...]]
    )
    forward: dict[tuple[str, int], Forward] = field(
        default_factory=dict[tuple[str, int], Forward]
    )
    order: list[str] = field(default_factory=list[str])


class Scopes:
    """A stack of isolated scopes; regions in one scope nest by an undo list."""

    __slots__ = ("current", "stack")

    def __init__(self) -> None:
        self.stack: list[Isolated] = []
        self.current = Isolated()

    def lookup(self, name: str) -> tuple[Value, ...] | None:
        """The values of a name, if it is defined here."""
        return self.current.values.get(name)

    def define(self, name: str, values: tuple[Value, ...]) -> None:
        """Make a name visible until its region ends."""
        self.current.values[name] = values
        self.current.order.append(name)

    def enter(self) -> int:
        """Open a region; returns the mark that :meth:`leave` takes."""
        return len(self.current.order)

    def leave(self, mark: int) -> None:
        """Close a region: forget its names."""
        order = self.current.order
        for name in order[mark:]:
            del self.current.values[name]
        del order[mark:]

    def enter_isolated(self) -> None:
        """Open a scope that sees no names from outside."""
        self.stack.append(self.current)
        self.current = Isolated()

    def leave_isolated(self) -> tuple[str, Forward] | None:
        """Close it; returns the first name that was used and never defined."""
        unresolved = self.current.forward
        self.current = self.stack.pop()
        if not unresolved:
            return None
        (name, _), forward = min(unresolved.items(), key=lambda item: item[1].start)
        return name, forward

    def forward(self, name: str, number: int, value: Value, start: int) -> Value:
        """The value that stands for a name not yet defined."""
        entry = self.current.forward.setdefault((name, number), Forward(value, start))
        return entry.value

    def take_forward(self, name: str, number: int) -> Forward | None:
        """The forward reference that a definition resolves."""
        return self.current.forward.pop((name, number), None)

    def visible(self) -> Sequence[str]:
        """Names that are defined here."""
        return list(self.current.values)


@dataclass(slots=True)
class Blocks:
    """The labels of one region."""

    labels: dict[str, Label] = field(default_factory=dict[str, Label])
    defined: set[str] = field(default_factory=set[str])
    used: dict[str, int] = field(default_factory=dict[str, int])

    def label(self, name: str) -> Label:
        """The label of a name, known or not yet."""
        return self.labels.setdefault(name, Label(name))

    def undefined(self) -> tuple[str, int] | None:
        """The first label that was used and never defined."""
        missing = [(n, s) for n, s in self.used.items() if n not in self.defined]
        return min(missing, key=lambda item: item[1], default=None)
