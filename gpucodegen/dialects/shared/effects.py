"""Declared effects of functions: which elements of its buffers a call reads and writes.

These are attributes of ``func.func``; if one of the four is present, together they
declare every access of the function::

    gcg.reads, gcg.writes           elements that every call reads, writes
    gcg.may_reads, gcg.may_writes   elements that a call may read, write

Each is a list with one entry per memref argument, in order::

    affine_map<(d0, d1)[s0, s1] -> (d0, d1)>              the elements in the image
    affine_set<(d0, d1, d2)[s0, s1] : (d1 - d0 == 0)>     the elements in the set
    unit        every element
    [..]        the elements of all these entries; [] is none

The first dimensions are the integer arguments of the function, in order. Further ones
of a map are any numbers for which the element lies in the buffer; further ones of a set
are the indices of the element. The symbols are the extents of the buffer.

External operations are those that a function outside of the program executes: prints,
aborts and operations of unknown dialects. They run on the host, in program order.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucodegen import errors
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.func import Function
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    IntegerSetAttr,
    UnitAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    IndexType,
    IntegerType,
    MemRefType,
    Type,
    UnrankedMemRefType,
)
from gpucodegen.records import dataclass

CALLS = frozenset({"func.call", "func.call_indirect"})
"""Operations that call a function, which may be external."""
_NAMES = frozenset({"cf.assert", "gcg.handle", "gpu.printf", "vector.print"})
_DIALECTS = frozenset({"check"})


def is_external(op: Operation) -> bool:
    """Whether a function outside of the program executes the operation.

    >>> [is_external(Operation(n)) for n in ("vector.print", "my.op", "arith.addi")]
    [True, True, False]
    """
    return op.name in _NAMES or op.dialect in _DIALECTS or lookup(op.name) is None


NAMES: dict[str, tuple[bool, bool]] = {
    "gcg.reads": (False, True),
    "gcg.writes": (True, True),
    "gcg.may_reads": (False, False),
    "gcg.may_writes": (True, False),
}
"""Per attribute: whether it declares writes, and whether they certainly happen."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Elements of the buffer at position ``argument`` that a call accesses."""

    argument: int
    writes: bool
    certain: bool
    relation: Attribute


def declared(function: Operation) -> tuple[Effect, ...] | None:
    """The declared effects of a function; None if it declares none."""
    if not any(name in function.attributes for name in NAMES):
        return None
    return tuple(
        Effect(argument, *NAMES[name], relation)
        for name in NAMES
        for argument, entry in _entries(function, name)
        for relation in _flat(entry)
    )


def undeclared(function: Operation) -> Operation:
    """The function without declared effects, since its signature has changed."""
    kept = {k: v for k, v in function.attributes.items() if k not in NAMES}
    return function.with_(attributes=kept)


def is_number(ty: Type) -> bool:
    """Whether arguments of this type are dimensions of the effect maps and sets."""
    return isinstance(ty, IndexType | IntegerType)


def _buffers(function: Operation) -> list[tuple[int, Type]]:
    inputs = enumerate(Function(function).type.inputs)
    return [(n, ty) for n, ty in inputs if isinstance(ty, _MEMREFS)]


_MEMREFS = (MemRefType, UnrankedMemRefType)


def _entries(function: Operation, name: str) -> list[tuple[int, Attribute]]:
    entries = function.entries(name)
    positions = (position for position, _ in _buffers(function))
    return list(zip(positions, entries, strict=False))


def _flat(entry: Attribute) -> Iterator[Attribute]:
    if isinstance(entry, ArrayAttr):
        for inner in entry.values:
            yield from _flat(inner)
    else:
        yield entry


def check_effects(function: Operation) -> None:
    """One entry per memref argument, from numbers to elements of its rank."""
    buffers = _buffers(function)
    numbers = sum(map(is_number, Function(function).type.inputs))
    for name in NAMES:
        value = function.attributes.get(name)
        if value is None:
            continue
        if not isinstance(value, ArrayAttr) or len(value.values) != len(buffers):
            hint = f"Write {len(buffers)} entries, one per memref argument"
            raise _wrong(function, name, "is not a list with an entry per memref", hint)
        for (_, ty), entry in zip(buffers, value.values, strict=True):
            for relation in _flat(entry):
                _check(function, name, relation, numbers, ty)


def _check(
    function: Operation, name: str, relation: Attribute, numbers: int, ty: Type
) -> None:
    """Check the dimensions, symbols and results of one map or set."""
    if isinstance(relation, UnitAttr):
        return
    if not isinstance(relation, AffineMapAttr | IntegerSetAttr):
        hint = "Write an affine_map, an affine_set, unit or a list of these"
        raise _wrong(function, name, f"has an entry {relation}", hint)
    if not isinstance(ty, MemRefType):
        hint = "Write unit or []"
        raise _wrong(function, name, f"has cells of {ty}, whose rank is open", hint)
    rank = ty.rank
    if isinstance(relation, AffineMapAttr):
        map_ = relation.map
        fits = map_.num_dims >= numbers and len(map_.results) == rank
        symbols = map_.num_syms
        wanted = f"{numbers} or more dimensions and {rank} results"
    else:
        fits, symbols = relation.set.num_dims == numbers + rank, relation.set.num_syms
        wanted = f"{numbers} + {rank} dimensions"
    if not fits or symbols not in (0, rank):
        hint = f"For {ty} it has {wanted}, and 0 or {rank} symbols"
        raise _wrong(function, name, f"has an entry {relation} that does not fit", hint)


def _wrong(
    function: Operation, name: str, problem: str, hint: str
) -> errors.VerifyError:
    return errors.WrongAttribute.at(
        function, problem=f"attribute '{name}' {problem}", hint=hint
    )
