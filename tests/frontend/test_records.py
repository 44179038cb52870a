"""`gpucodegen.records.dataclass` makes the classes of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from gpucodegen import records

Decorator = Callable[..., Any]
OPTIONS = [
    {"frozen": True, "slots": True},
    {"slots": True},
    {"frozen": True},
    {},
    {"frozen": True, "slots": True, "eq": False},
    {"repr": False, "eq": False},
]


def classes(dataclass: Decorator, options: dict[str, Any]) -> tuple[Any, ...]:
    @dataclass(**options)
    class Base:
        """A pair."""

        size: ClassVar[int] = 2
        a: int
        b: Any = field(default=7, repr=False)

    @dataclass(**options)
    class Other(Base):
        c: list[int] = field(default_factory=list[int], hash=False)
        d: int = field(default=1, compare=False)
        _: KW_ONLY
        self: str = "x"
        e: float = field(default=2.0, init=False)

        def __post_init__(self) -> None:
            self.c.append(self.a)

    @dataclass(**options)
    class Own(Base):  # noqa: PLW1641
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.a == other.a

        def __repr__(self) -> str:
            return "own"

    @dataclass(**options)
    class Changed(Base):
        f: Any = 4
        b: Any = field(default=(3,), kw_only=True)
        g: list[int] = field(default_factory=list[int], repr=False)
        h: float = field(default=2.0, init=False)

    return Base, Other, Own, Changed


def told(work: Callable[[], object]) -> object:
    """What it returns, or the kind of its error."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001
        return type(error)


def told_by_class(cls: Any) -> list[object]:
    one, two, apart = cls(1), cls(1), cls(3, (4,))
    hashes = told(lambda: hash(one)), told(lambda: hash(two))
    return [
        repr(one).partition(" object at")[0],
        [one == two, one == apart, one != two, one == 1],
        [hashes[0] == hashes[1], hashes[0] is TypeError],
        repr(dataclasses.replace(apart, a=5)).partition(" object at")[0],
        dataclasses.asdict(copy.deepcopy(apart)),
        [f.name for f in dataclasses.fields(cls)],
        str(inspect.signature(cls)).replace("'", ""),
        cls.__match_args__,
        told(lambda: setattr(one, "a", 2)),
        told(lambda: delattr(one, "b")),
        told(lambda: setattr(one, "nothing", 2)) is None,
        hasattr(one, "__dict__"),
        told(cls),
        told(lambda: cls(1, 2, 3, 4, 5, 6)),
    ]


def facts(dataclass: Decorator, options: dict[str, Any]) -> list[object]:
    found = classes(dataclass, options)
    other = found[1]
    made = other(1, 2, [8], self="y")
    wrong = told(lambda: other(1, 2, [], 3, "y"))
    return [*map(told_by_class, found), dataclasses.asdict(made), wrong]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_classes_are_those_of_the_standard_library(options: dict[str, Any]):
    ours = facts(records.dataclass, options)
    for mine, others in zip(ours, facts(dataclasses.dataclass, options), strict=True):
        assert mine == others


@records.dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: list[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Named(Point):
    """A class of the standard decorator may have ours as its base."""

    name: str = ""


@pytest.mark.parametrize("point", [Point(1, [2]), Named(1, [2], "n")], ids=str)
def test_frozen_slots_are_pickled(point: Point):
    again: Any = pickle.loads(pickle.dumps(point))
    assert again == point
    assert again.y is not point.y
    with pytest.raises(FrozenInstanceError, match="'x'"):
        again.x = 3
    with pytest.raises(FrozenInstanceError):
        del again.x
    match again:
        case Point(x, [y]):
            assert (x, y) == (1, 2)


def test_a_plain_class_below_a_frozen_one_has_attributes_of_its_own():
    class Plain(Point):
        pass

    plain: Any = Plain(1, [2])
    plain.other = 3  # the standard library's raises TypeError
    assert (plain.x, plain.other) == (1, 3)
    with pytest.raises(FrozenInstanceError):
        plain.x = 2


def test_methods_are_written_when_they_are_looked_up():
    base, *_ = classes(records.dataclass, {"frozen": True, "slots": True})
    assert not inspect.isfunction(vars(base)["__init__"])
    assert base(1) == base(1)
    assert inspect.isfunction(vars(base)["__init__"])
    assert inspect.isfunction(vars(base)["__eq__"])
    assert not inspect.isfunction(vars(base)["__hash__"])
    assert base.__init__.__qualname__.endswith("Base.__init__")
