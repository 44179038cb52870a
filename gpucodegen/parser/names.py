"""Symbol tables of the parser: blocks and SSA values, with forward references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import Argument, Use
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Label, Value
from gpucodegen.ir.types import DialectType, Type
from gpucodegen.parser.lexer import Lexer
from gpucodegen.records import dataclass


@dataclass(slots=True)
class Forward:
    """A value used before its definition; the definition takes over the value."""

    value: Value
    start: int

    def settle(self, location: Location) -> Value:
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
        """Close the scope; return the first name that was used but never defined."""
        unresolved = self.current.forward
        self.current = self.stack.pop()
        if not unresolved:
            return None
        (name, _), forward = min(unresolved.items(), key=lambda item: item[1].start)
        return name, forward

    def forward(self, name: str, number: int, value: Value, start: int) -> Value:
        """The placeholder value for a name that is not yet defined."""
        entry = self.current.forward.setdefault((name, number), Forward(value, start))
        return entry.value

    def take_forward(self, name: str, number: int) -> Forward | None:
        """The forward reference that a definition resolves."""
        return self.current.forward.pop((name, number), None)

    def visible(self) -> Sequence[str]:
        return list(self.current.values)


@dataclass(slots=True)
class Blocks:
    """The labels of one region."""

    labels: dict[str, Label] = field(default_factory=dict[str, Label])
    defined: set[str] = field(default_factory=set[str])
    used: dict[str, int] = field(default_factory=dict[str, int])

    def label(self, name: str) -> Label:
        return self.labels.setdefault(name, Label(name))

    def undefined(self) -> tuple[str, int] | None:
        """The first label that was used but never defined."""
        missing = [(n, s) for n, s in self.used.items() if n not in self.defined]
        return min(missing, key=lambda item: item[1], default=None)


UNKNOWN_TYPE = DialectType("gpucodegen.unknown")
"""Type of a verbatim operation's result, until a use states it."""


class Values(Lexer):
    """A lexer with the values defined so far.

    ``guessed``: values whose type a later use may state; ``refined``: their final
    value.
    """

    def __init__(self, text: str, filename: str) -> None:
        self.scopes = Scopes()
        self.guessed: set[Value] = set()
        self.refined: dict[Value, Value] = {}
        super().__init__(text, filename)

    def use(self) -> Use:
        token, start = self.token, self.start
        if token[:1] != "%" or len(token) < 2:
            raise self.unexpected("a value such as %x")
        self.advance()
        number = 0
        if self.token[:1] == "#" and self.token[1:].isdigit():
            number = int(self.advance()[1:])
        return Use(token[1:], number, start)

    def uses(self) -> list[Use]:
        """A list of operands without brackets, possibly empty."""
        return self.separated(self.use) if self.token[:1] == "%" else []

    def resolve(self, use: Use, ty: Type | None = None) -> Value:
        """The value that a use names; ``ty`` is the type written for it, if any."""
        values = self.scopes.lookup(use.name)
        if values is None:
            return self._forward(use, ty)
        if use.number >= len(values):
            raise errors.OperandMismatch(
                self.location(use.start),
                operation=f"%{use.name}#{use.number}",
                problem=f"'%{use.name}' has {len(values)} values",
                hint="Use a smaller number after '#'",
            )
        value = values[use.number]
        if ty is None:
            return value
        if value in self.guessed:
            return self._settled(use, value, ty)
        if value.type is not ty and value.type != ty:
            self._check_type(use, value, ty)
        return value

    def _settled(self, use: Use, value: Value, ty: Type) -> Value:
        """The value of guessed type, now that a use states the type."""
        if ty == UNKNOWN_TYPE:
            return value
        self.guessed.discard(value)
        return value if value.type == ty else self._refine(use, ty)

    def _refine(self, use: Use, ty: Type) -> Value:
        """Set an unknown type to the type that a use states."""
        values = list(self.scopes.lookup(use.name) or ())
        old = values[use.number]
        values[use.number] = self.refined[old] = old.renewed(ty)
        self.scopes.current.values[use.name] = tuple(values)
        return values[use.number]

    def _check_type(self, use: Use, value: Value, ty: Type) -> None:
        raise errors.ValueTypeMismatch(
            self.location(use.start),
            name=use.name,
            actual=value.type,
            written=ty,
            notes=[(value.location, f"'%{use.name}' is defined here")],
        )

    def _forward(self, use: Use, ty: Type | None) -> Value:
        if ty is None:
            raise self.undefined(use.name, use.start, self.scopes.visible())
        fresh = Value(ty, _hint(use.name), self.location(use.start))
        value = self.scopes.forward(use.name, use.number, fresh, use.start)
        if value.type != ty:
            self._check_type(use, value, ty)
        return value

    def undefined(
        self, name: str, start: int, known: Sequence[str]
    ) -> errors.ParseError:
        """The error for a name without definition."""
        advice = errors.did_you_mean(f"%{name}", [f"%{k}" for k in known])
        return errors.UndefinedValue(self.location(start), name=name, advice=advice)

    def resolve_all(
        self, uses: Sequence[Use], types: Sequence[Type], start: int
    ) -> list[Value]:
        if not types:
            return [self.resolve(use) for use in uses]
        if len(types) != len(uses):
            raise errors.TypeCountMismatch(
                self.location(start), operands=len(uses), types=len(types)
            )
        return [self.resolve(use, ty) for use, ty in zip(uses, types, strict=True)]

    def define(self, name: str, types: Sequence[Type], start: int) -> list[Value]:
        """Define the values of a name; a forward reference becomes the definition."""
        if name in self.scopes.current.values:
            raise errors.RedefinedValue(self.location(start), name=name)
        values = [self._fresh(name, i, ty, start) for i, ty in enumerate(types)]
        self.scopes.define(name, tuple(values))
        return values

    def _fresh(self, name: str, number: int, ty: Type, start: int) -> Value:
        forward = self.scopes.take_forward(name, number)
        if forward is None:
            return Value(ty, _hint(name), self.location(start))
        if forward.value.type != ty:
            fresh = Value(ty, name, self.location(start))
            self._check_type(
                Use(name, number, forward.start), fresh, forward.value.type
            )
        return forward.settle(self.location(start))

    def argument(self, use: Use, ty: Type) -> Argument:
        return Argument(use.name, Value(ty, _hint(use.name), self.location(use.start)))

    def define_value(self, name: str, value: Value, start: int) -> None:
        """Make an existing value visible under a name."""
        if name in self.scopes.current.values:
            raise errors.RedefinedValue(
                value.location or self.location(start), name=name
            )
        self.scopes.define(name, (value,))


def _hint(name: str) -> str:
    return "" if name[0].isdigit() else name
