"""Index types: ``scf.for`` of any integer type and the index dialect, as ``index``.

``scf.for`` loops over other integers, or with unsigned comparison, become signed loops
over ``index``.  Integers of fewer than 64 bits are extended, so the variable does not
wrap before it is compared.  Unsigned integers of 64 bits count iterations:

    lower + k * step,  0 <= k < (lower < upper ? (upper - lower - 1) / step + 1 : 0)

Operations of the index dialect become those of arith, with the same meaning because
``index`` has 64 bits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects import arith, scf
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up, single_block
from gpucodegen.ir.types import I64, INDEX, IntegerType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.lower_affine.expressions import compare
from gpucodegen.records import dataclass

SAME = {
    f"index.{name}": f"arith.{other}"
    for name, other in {
        "add": "addi",
        "sub": "subi",
        "mul": "muli",
        "divs": "divsi",
        "divu": "divui",
        "rems": "remsi",
        "remu": "remui",
        "ceildivs": "ceildivsi",
        "ceildivu": "ceildivui",
        "floordivs": "floordivsi",
        "mins": "minsi",
        "maxs": "maxsi",
        "minu": "minui",
        "maxu": "maxui",
        "and": "andi",
        "or": "ori",
        "xor": "xori",
        "shl": "shli",
        "shrs": "shrsi",
        "shru": "shrui",
        "casts": "index_cast",
        "castu": "index_castui",
    }.items()
}
"""Operations of one name each."""
WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class IndexToArith(ModulePass, name="index-to-arith", looks_for="index"):
    """Operations of the index dialect become those of arith."""

    def apply(self, module: Module) -> Module:
        (root,) = rewrite_bottom_up(module.operation, _as_arith)
        return Module(root)


def _as_arith(op: Operation) -> list[Operation] | None:
    if op.name in SAME:
        return [op.with_(name=SAME[op.name])]
    rule = _RULES.get(op.name)
    return None if rule is None else [rule(op)]


def _compared(op: Operation) -> Operation:
    """``index.cmp``: arith's predicate of the same name."""
    predicate = str(op.attributes["pred"]).rpartition("<")[2].rstrip(">").strip()
    lhs, rhs = op.operands
    made = arith.compare("arith.cmpi", predicate, lhs, rhs, location=op.location)
    return made.with_(results=op.results)


def _constant(op: Operation) -> Operation:
    """``index.constant`` and ``index.bool.constant``."""
    value = op.attributes["value"]
    return op.with_(name="arith.constant", attributes={"value": value})


def _size(op: Operation) -> Operation:
    """``index.sizeof``: the bits of an index."""
    value = IntegerAttr(WORD_BITS, INDEX)
    return op.with_(name="arith.constant", attributes={"value": value})


_RULES: dict[str, Callable[[Operation], Operation]] = {
    "index.cmp": _compared,
    "index.constant": _constant,
    "index.bool.constant": _constant,
    "index.sizeof": _size,
}


LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class LoopsToIndex(ModulePass, name="loops-to-index", looks_for="scf.for"):
    """``scf.for`` over integers or without sign becomes a signed one over ``index``."""

    def apply(self, module: Module) -> Module:
        if not any(map(_is_special, module.walk())):
            return module
        (root,) = rewrite_bottom_up(module.operation, _over_index)
        return Module(root)


def _is_special(op: Operation) -> bool:
    if op.name != "scf.for":
        return False
    ty = op.operands[0].type
    is_narrow = isinstance(ty, IntegerType) and ty.width <= I64.width
    return is_narrow or "unsignedCmp" in op.attributes


def _over_index(op: Operation) -> Sequence[Operation] | None:
    if not _is_special(op):
        return None
    b, loop = Builder(op.location), scf.For(op)
    ty = loop.lower.type
    is_unsigned = "unsignedCmp" in op.attributes
    cast = "arith.index_castui" if is_unsigned else "arith.index_cast"
    bounds = [
        v if ty == INDEX else b.value(cast, (v,), INDEX)
        for v in (loop.lower, loop.upper, loop.step)
    ]
    inner, counter = Builder(op.location), loop.iv.renewed(INDEX)
    value = counter
    is_wide = ty in (INDEX, I64)
    if is_unsigned and is_wide:
        lower, upper, step = bounds
        bounds = _trips(b, lower, upper, step)
        passed = inner.value("arith.muli", (counter, step), INDEX)
        value = inner.value("arith.addi", (lower, passed), INDEX)
    if ty != INDEX:
        value = inner.value("arith.index_cast", (value,), ty)
    last = inner.operations[-1].with_(results=(loop.iv,))
    made = op.with_(operands=(*bounds, *loop.inits)).with_attribute("unsignedCmp", None)
    body = [*inner.operations[:-1], last, *op.body.operations]
    region = single_block(body, (counter, *loop.iter_args))
    return [*b.operations, made.with_(regions=(region,))]


def _trips(b: Builder, lower: Value, upper: Value, step: Value) -> list[Value]:
    """Bounds and step of a counter; the step of a loop whose step is 0 stays 0."""
    zero, one, most = (b.constant(n, INDEX) for n in (0, 1, LARGEST))

    def binary(name: str, first: Value, second: Value) -> Value:
        return b.value(f"arith.{name}", (first, second), INDEX)

    rest = binary("subi", binary("subi", upper, lower), one)
    divided = binary("divui", rest, binary("maxui", step, one))
    count = binary("addi", binary("minui", divided, binary("subi", most, one)), one)
    runs = compare(b, "ult", lower, upper)
    trips = b.value("arith.select", (runs, count, zero), INDEX)
    return [zero, trips, binary("minui", step, one)]
