"""Results of a translated function, as its callers restore them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.ir.types import Type


@dataclass(frozen=True, slots=True)
class Given:
    """A result that is an argument itself, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class ArrayResult:
    """A result that is an array of a dtype."""

    dtype: Any
    rank: int


Result = Any
"""A kind, `ArrayResult`, `Given`, None, or a tuple of them."""


@dataclass(frozen=True, slots=True)
class Made:
    """A function of the module: its symbol and its results."""

    symbol: str
    results: Result
    types: tuple[Type, ...]


def is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)


def leaves(value: Any) -> Iterator[Any]:
    """The numbers and arrays of nested tuples, in order."""
    if is_tuple(value):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def rebuilt(value: Any, made: Iterator[Any]) -> Any:
    """Tuples of the same structure with other numbers and arrays."""
    if is_tuple(value):
        return tuple([rebuilt(part, made) for part in value])
    return next(made)
