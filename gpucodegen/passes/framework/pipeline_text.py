"""Pass pipelines as text: ``canonicalize,tile{sizes=[32,32],relaxed=true},map-gpu``.

pipeline ::= (pass (`,` pass)*)?      pass  ::= name (`{` option (`,` option)* `}`)?
option   ::= field `=` value          value ::= word | `[` (word (`,` word)*)? `]`
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields

from gpucodegen import errors
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.registry import pass_class

_TOKEN = re.compile(r"\s*(?:([\w.-]+)|([{}\[\],=])|(\S))")
Value = str | list[str]


def parse_pipeline(text: str) -> tuple[ModulePass, ...]:
    """Passes of a pipeline text, in order.

    >>> [str(p) for p in parse_pipeline("canonicalize, tile{sizes=[4,8]}")]
    ['canonicalize', 'tile{sizes=[4,8]}']
    """
    tokens = [m.group(1) or m.group(2) or m.group(3) for m in _TOKEN.finditer(text)]
    tokens = [token for token in tokens if token]
    passes: list[ModulePass] = []
    while tokens:
        passes.append(_pass(tokens))
        if tokens:
            _expect(tokens, ",", "between passes")
    return tuple(passes)


def _expect(tokens: list[str], wanted: str, where: str) -> None:
    found = tokens.pop(0) if tokens else "end of text"
    if found != wanted:
        raise errors.InvalidPassOption(
            name="pipeline",
            problem=f"expected '{wanted}' {where}, found '{found}'",
            hint="Write passes as name{field=value,..},name",
        )


def _pass(tokens: list[str]) -> ModulePass:
    name = tokens.pop(0)
    kind = pass_class(name)
    options: dict[str, Value] = {}
    if tokens[:1] == ["{"]:
        tokens.pop(0)
        while tokens[:1] != ["}"]:
            field = tokens.pop(0) if tokens else ""
            _expect(tokens, "=", f"after option '{field}'")
            options[field] = _value(tokens)
            if tokens[:1] != ["}"]:
                _expect(tokens, ",", "between options")
        tokens.pop(0)
    return kind(**_converted(name, kind, options))


def _value(tokens: list[str]) -> Value:
    if tokens[:1] != ["["]:
        return tokens.pop(0) if tokens else ""
    tokens.pop(0)
    values: list[str] = []
    while tokens[:1] != ["]"]:
        values.append(tokens.pop(0) if tokens else "")
        if tokens[:1] != ["]"]:
            _expect(tokens, ",", "in a list")
    tokens.pop(0)
    return values


def _converted(
    name: str, kind: type[ModulePass], options: dict[str, Value]
) -> dict[str, object]:
    known = {field.name: str(field.type) for field in fields(kind)}
    converted: dict[str, object] = {}
    for option, value in options.items():
        convert = _CONVERSIONS.get(known.get(option, ""))
        if convert is None:
            listed = ", ".join(known) or "none"
            hint = errors.did_you_mean(option, list(known), f"Options: {listed}")
            problem = f"unknown option '{option}'"
            raise errors.InvalidPassOption(name=name, problem=problem, hint=hint)
        try:
            converted[option] = convert(value)
        except (KeyError, TypeError, ValueError) as bad:
            problem = f"option '{option}' cannot be {value!r}"
            hint = f"Give a value of type {known[option]}"
            raise errors.InvalidPassOption(
                name=name, problem=problem, hint=hint
            ) from bad
    return converted


def _integer(value: Value) -> int:
    return int(value) if isinstance(value, str) else int(*value)


def _integers(value: Value) -> tuple[int, ...]:
    return tuple(map(int, [value] if isinstance(value, str) else value))


def _words(value: Value) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _number_or_word(word: str) -> int | str:
    return int(word) if word.removeprefix("-").isdigit() else word


_TRUTH = {"true": True, "false": False}

_CONVERSIONS: dict[str, Callable[[Value], object]] = {
    "int": _integer,
    "bool": lambda value: _TRUTH[str(value)],
    "str": str,
    "tuple[int, ...]": _integers,
    "tuple[str, ...]": _words,
    "tuple[int | str, ...]": lambda value: tuple(map(_number_or_word, _words(value))),
}
