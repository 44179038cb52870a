"""``dataclass`` whose classes cost a twentieth of the standard library's to make.

The standard decorator writes, compiles and runs the text of six methods for each class.
A process that compiles one kernel makes 800 classes and calls the methods of few; that
took a quarter of its processor time.  Here a method is written when it is first looked
up, or is one function of all classes; fields and slots are made directly where no
annotation is special (``ClassVar``, ``InitVar``, ``KW_ONLY``), else by the standard
decorator, which type checkers see.  ``fields``, ``replace`` and ``match`` work alike.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from inspect import get_annotations
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        return record(cls, **options) if cls else lambda cls: record(cls, **options)


__all__ = ["dataclass"]
Text = tuple[str, list[str], dict[str, Any]]
"""The header and the lines of a method, and the names that they use."""


def record(
    cls: type,
    *,
    frozen: bool = False,
    slots: bool = False,
    repr: bool = True,  # noqa: A002
    eq: bool = True,
    **others: Any,
) -> type:
    """The class as ``dataclasses.dataclass`` makes it; ``order`` is not supported."""
    own = set(cls.__dict__)
    if "__eq__" in own and cls.__hash__ is None:
        own.discard("__hash__")  # Python has put it there, not the class
    methods: dict[str, object] = {"__init__": _Late(_initialization)}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _Late(_comparison)
        methods["__hash__"] = _Late(_hash) if frozen else None
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if frozen and slots:
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    methods = {name: method for name, method in methods.items() if name not in own}
    fields = _plain_fields(cls) if slots and not others else None
    if fields is not None:
        methods["__dataclass_params__"] = _PARAMETERS[frozen]
        return _with_slots(cls, fields, methods)
    doc, cls.__doc__ = cls.__doc__, "-"  # without one, its signature would be computed
    bases = (vars(base).get("__dataclass_params__") for base in cls.__mro__[1:])
    inherits = any(params is not None and params.frozen for params in bases)
    standard: Any = dataclasses.dataclass
    made: Any = standard(
        init=False, repr=False, eq=False, frozen=inherits, slots=slots, **others
    )(cls)
    made.__doc__ = doc
    made.__dataclass_params__.frozen = frozen
    for name, method in methods.items():
        setattr(made, name, method)
        if isinstance(method, _Late):
            method.__set_name__(made, name)
    return made


@dataclasses.dataclass
class _Template:
    field: int


_FIELD = dataclasses.fields(_Template)[0]._field_type  # type: ignore[attr-defined] # noqa: SLF001
"""By this `dataclasses.fields` knows a field; it has no public name."""
_PARAMETERS: Mapping[bool, object] = {
    frozen: vars(dataclasses.dataclass(frozen=frozen)(_Template))[
        "__dataclass_params__"
    ]
    for frozen in (True, False)
}
"""Shared by all classes: subclasses read ``frozen`` alone."""


def _plain_fields(cls: type) -> dict[str, Any] | None:
    """The fields by name, own ones last; None if some have special annotations."""
    found: dict[str, Any] = {}
    for base in filter(dataclasses.is_dataclass, cls.__mro__[-1:0:-1]):
        found |= {each.name: each for each in dataclasses.fields(base)}
    for name, annotation in get_annotations(cls).items():
        if not isinstance(annotation, str) or _SPECIAL.search(annotation):
            return None
        default: Any = getattr(cls, name, dataclasses.MISSING)
        if isinstance(default, MemberDescriptorType):  # a slot of a base class
            default = dataclasses.MISSING
        if not isinstance(default, dataclasses.Field):
            if type(default).__hash__ is None:
                return None  # refused by the standard decorator
            default = dataclasses.field(default=default)
        default.name, default.type = name, annotation
        default.kw_only = default.kw_only is True
        default._field_type = _FIELD  # noqa: SLF001
        found[name] = default
    return found


_SPECIAL = re.compile("ClassVar|InitVar|KW_ONLY")


def _with_slots(
    cls: type, fields: dict[str, Any], methods: Mapping[str, object]
) -> type:
    """The class again, with a slot for each field that no base class has."""
    taken = {name for base in cls.__mro__[1:] for name in _slots(base)}
    left = {*fields, "__dict__", "__weakref__"}
    body = {name: value for name, value in vars(cls).items() if name not in left}
    body["__slots__"] = tuple(name for name in fields if name not in taken)
    body["__dataclass_fields__"] = fields
    names = (name for name, each in fields.items() if each.init and not each.kw_only)
    body.setdefault("__match_args__", tuple(names))
    body |= {"__qualname__": cls.__qualname__, **methods}
    return type(cls)(cls.__name__, cls.__bases__, body)


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


class _Made:
    """The argument whose default a function makes."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()


class _Late:
    """A method that is written when it is first looked up."""

    cls: type

    def __init__(self, write: Callable[[Any], Text]) -> None:
        self.write = write

    def __set_name__(self, cls: type, name: str) -> None:
        self.cls = cls

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        header, body, names = self.write(self.cls)
        exec(f"def {header}:\n " + "\n ".join(body), names)  # noqa: S102
        name = header.partition("(")[0]
        method = names[name]
        method.__qualname__ = f"{self.cls.__qualname__}.{name}"
        method.__module__ = self.cls.__module__
        method.__annotations__ = names.get("_types", {})
        setattr(self.cls, name, method)
        return method if instance is None else method.__get__(instance)


def _initialization(cls: Any) -> Text:
    """``__init__`` that sets all fields; slots of frozen classes by their setters."""
    fields = dataclasses.fields(cls)
    me = "self" if all(f.name != "self" for f in fields) else "_self"
    types = {f.name: f.type for f in fields if f.init} | {"return": None}
    names: dict[str, Any] = {
        "_MADE": _MADE,
        "_set": object.__setattr__,
        "_types": types,
    }
    parameters: dict[bool, list[str]] = {False: [], True: []}
    body = [f"{me}.__post_init__()"] if hasattr(cls, "__post_init__") else ["pass"]
    for f in reversed(fields):
        value = f.name
        default = f"_default_{f.name}"
        if f.default_factory is not dataclasses.MISSING:
            names[default] = f.default_factory
            value = f"{default}()"
            if f.init:
                value += f" if {f.name} is _MADE else {f.name}"
            default = "_MADE"
        elif f.default is not dataclasses.MISSING:
            names[default] = f.default
            value = f.name if f.init else default
        else:
            default = ""
        if f.init:
            text = f"{f.name}={default}" if default else f.name
            parameters[f.kw_only is True].insert(0, text)
        elif not default:
            continue
        body.insert(0, _assignment(cls, me, f.name, value, names))
    keywords = ["*", *parameters[True]] if parameters[True] else []
    header = ", ".join([me, *parameters[False], *keywords])
    return f"__init__({header})", body, names


def _assignment(
    cls: Any, me: str, field: str, value: str, names: dict[str, Any]
) -> str:
    if not cls.__dataclass_params__.frozen:
        return f"{me}.{field} = {value}"
    slot = getattr(cls, field, None)
    if not isinstance(slot, MemberDescriptorType):
        return f"_set({me}, {field!r}, {value})"
    names[f"_set_{field}"] = slot.__set__
    return f"_set_{field}({me}, {value})"


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f for f in dataclasses.fields(self) if f.repr)
    values = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in shown)
    return f"{type(self).__qualname__}({values})"


def _comparison(cls: Any) -> Text:
    names = [f.name for f in dataclasses.fields(cls) if f.compare]
    body = [
        "if other.__class__ is not self.__class__:",
        "    return NotImplemented",
        f"return {_values('self', names)} == {_values('other', names)}",
    ]
    return "__eq__(self, other)", body, {}


def _hash(cls: Any) -> Text:
    fields = dataclasses.fields(cls)
    names = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
    return "__hash__(self)", [f"return hash({_values('self', names)})"], {}


def _values(instance: str, names: list[str]) -> str:
    return f"({''.join(f'{instance}.{name}, ' for name in names)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(self: Any, name: str) -> bool:
    """Whether an attribute is one of a frozen class, not of a plain class below it."""
    is_own = "__dataclass_params__" in vars(self.__class__)
    return is_own or name in self.__dataclass_fields__


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
