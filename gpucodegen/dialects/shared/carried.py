"""Loop-carried values: ``iter_args(%x = %init) -> (type)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import Argument, Reader, Use, Writer
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import Type


@dataclass(slots=True)
class Carried:
    """Arguments of the body, initial values and types."""

    arguments: list[Argument] = field(default_factory=list[Argument])
    inits: list[Value] = field(default_factory=list[Value])
    types: list[Type] = field(default_factory=list[Type])


def parse_carried(r: Reader, word: str = "iter_args") -> Carried:
    """The clause, or nothing."""
    if r.token != word:
        return Carried()
    r.advance()
    start = r.start
    pairs = r.listed("(", ")", lambda: parse_pair(r))
    types = r.arrow_types()
    if len(types) != len(pairs):
        raise errors.TypeCountMismatch(
            r.location(start), operands=len(pairs), types=len(types)
        )
    return Carried(
        [r.argument(name, ty) for (name, _), ty in zip(pairs, types, strict=True)],
        [r.resolve(init, ty) for (_, init), ty in zip(pairs, types, strict=True)],
        types,
    )


def parse_pair(r: Reader) -> tuple[Use, Use]:
    """``%x = %init``."""
    name = r.use()
    r.expect("=")
    return name, r.use()


def print_carried(
    w: Writer,
    arguments: Sequence[Value],
    inits: Sequence[Value],
    results: Sequence[Value],
    word: str = "iter_args",
) -> None:
    """The clause, or nothing."""
    if not inits:
        return
    pairs = ", ".join(
        f"{w.name(argument)} = {w.name(init)}"
        for argument, init in zip(arguments, inits, strict=True)
    )
    types = ", ".join(str(v.type) for v in results)
    w.write(f" {word}({pairs}) -> ({types})")
