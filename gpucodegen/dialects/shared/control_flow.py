"""Typed views, syntax and rules that all structured control flow shares.

The syntax is that of loop-carried values: ``iter_args(%x = %init) -> (type)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects.framework.constraints import wrong_operand
from gpucodegen.dialects.framework.syntax import Argument, Reader, Use, Writer
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import Type
from gpucodegen.records import dataclass


@dataclass(slots=True)
class Carried:
    """Loop-carried values: body arguments, initial values and types."""

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
    if not inits:
        return
    pairs = ", ".join(
        f"{w.name(argument)} = {w.name(init)}"
        for argument, init in zip(arguments, inits, strict=True)
    )
    types = ", ".join(str(v.type) for v in results)
    w.write(f" {word}({pairs}) -> ({types})")


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop whose body block takes the induction variable and the carried values."""

    operation: Operation

    @property
    def block(self) -> Block:
        return self.operation.body

    @property
    def body(self) -> tuple[Operation, ...]:
        return self.block.operations

    @property
    def iv(self) -> Value:
        return self.block.arguments[0]

    @property
    def iter_args(self) -> tuple[Value, ...]:
        """The loop-carried values, as seen in the body."""
        return self.block.arguments[1:]

    @property
    def yielded(self) -> tuple[Value, ...]:
        """Operands of the terminator."""
        return self.body[-1].operands


@dataclass(frozen=True, slots=True)
class TwoWayBranch:
    """An operation with a then and an else region; the second may be missing."""

    operation: Operation

    @property
    def then_body(self) -> tuple[Operation, ...]:
        return self.operation.regions[0].blocks[0].operations

    @property
    def else_body(self) -> tuple[Operation, ...]:
        """Operations of the else branch, the yield included; empty without one."""
        regions = self.operation.regions
        blocks = regions[1].blocks if len(regions) > 1 else ()
        return blocks[0].operations if blocks else ()


def check_else(o: Operation) -> None:
    """An operation with results has an else branch."""
    if o.results and not o.regions[1].blocks:
        raise errors.WrongRegionCount.at(
            o, expected="an else branch when there are results", actual="none"
        )


def check_yield(o: Operation, expected: Sequence[Type], name: str = "") -> None:
    """Every terminator of ``o`` (of this name, if given) yields these types."""
    for block in o.blocks:
        for last in block.operations[-1:]:
            if not name or last.name == name:
                _check(o, last, expected)


def _check(o: Operation, last: Operation, expected: Sequence[Type]) -> None:
    actual = [v.type for v in last.operands]
    if actual != list(expected):
        raise errors.YieldMismatch(
            last.location,
            operation=o.name,
            expected=", ".join(map(str, expected)),
            actual=", ".join(map(str, actual)),
            focus=wrong_operand(last, expected),
        )
