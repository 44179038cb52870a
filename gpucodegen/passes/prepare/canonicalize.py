"""Canonicalization: folding, map composition, repeated and dead code, CFG cleanup.

An integer that the same operation computed before, from the same operands, is that one:
where a kernel gets both as arguments, a proof could not tell that they are equal.
Branches with constant conditions are decided, unreachable blocks removed, and chains of
blocks merged.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Sequence
from dataclasses import field

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import Slice
from gpucodegen.dialects.shared.integer_ranges import range_of_value
from gpucodegen.ir.affine import Const, IntegerSet
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr, IntegerSetAttr, number
from gpucodegen.ir.operation import (
    Block,
    Label,
    Operation,
    Region,
    Successor,
    Value,
    renamed,
    substitute_values,
)
from gpucodegen.ir.types import (
    I1,
    INDEX,
    IndexType,
    IntegerType,
    MemRefType,
    element_type,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import without_dead_code
from gpucodegen.passes.framework.indexing import Index, from_map, rewrite_maps
from gpucodegen.passes.prepare.hoist_index_values import AROUND
from gpucodegen.passes.prepare.tensors.placement import kept_dimensions
from gpucodegen.records import dataclass

Integer = Callable[[Value], "int | None"]


def simplified(blocks: Sequence[Block], integer: Integer) -> tuple[Block, ...]:
    """The same control flow in fewer blocks; ``integer`` is a constant's value.

    Constant branches are decided, unreachable blocks removed, and a block with a single
    predecessor that jumps to it is merged into that.
    """
    decided = [_decided(block, integer) for block in blocks]
    return _chained(_reached(decided))


def _decided(block: Block, integer: Integer) -> Block:
    *before, last = block.operations or (None,)
    if last is None or last.name != "cf.cond_br":
        return block
    condition = integer(last.operands[0])
    if condition is None:
        return block
    taken = last.successors[0 if condition else 1]
    return block.with_operations([*before, _jump(last, taken)])


def _jump(op: Operation, target: Successor) -> Operation:
    return Operation("cf.br", successors=(target,), location=op.location)


def _targets(block: Block) -> list[Label]:
    return [target.label for op in block.operations[-1:] for target in op.successors]


def _reached(blocks: Sequence[Block]) -> list[Block]:
    """The blocks reachable from the entry, in order."""
    by_label = {block.label: block for block in blocks}
    seen: set[Block] = set()
    work = list(blocks[:1])
    while work:
        block = work.pop()
        if block not in seen:
            seen.add(block)
            work += [by_label[label] for label in _targets(block) if label in by_label]
    return [block for block in blocks if block in seen]


def _chained(blocks: list[Block]) -> tuple[Block, ...]:
    """Blocks that end in the only jump to the next one, joined with it."""
    while True:
        arrivals = Counter(label for block in blocks for label in _targets(block))
        joined = next(filter(None, (_join(b, blocks, arrivals) for b in blocks)), None)
        if joined is None:
            return tuple(blocks)
        blocks = joined


def _join(
    block: Block, blocks: list[Block], arrivals: Counter[Label]
) -> list[Block] | None:
    """The blocks with ``block`` and the one it jumps to as one."""
    *before, last = block.operations or (None,)
    if last is None or last.name != "cf.br":
        return None
    target = last.successors[0]
    found = [b for b in blocks[1:] if b.label is target.label and b is not block]
    if not found or arrivals[target.label] != 1:
        return None
    (following,) = found
    whole = block.with_operations([*before, *following.operations])
    rest = [whole if b is block else b for b in blocks if b is not following]
    passed = zip(following.arguments, target.operands, strict=True)
    return _renamed(rest, dict(passed))


def _renamed(blocks: list[Block], values: dict[Value, Value]) -> list[Block]:
    if not values:
        return blocks
    return [
        block.with_operations(substitute_values(op, values) for op in block.operations)
        for block in blocks
    ]


_CAST = "builtin.unrealized_conversion_cast"
ROUNDS = 4
"""One round of folding exposes more; this many reach a fixed point in practice."""


@dataclass(frozen=True, slots=True)
class Canonicalize(ModulePass, name="canonicalize"):
    """Fold constants, compose maps, drop repeated, dead and trivial code."""

    def apply(self, module: Module) -> Module:
        for _ in range(ROUNDS):
            folder = _Folder()
            operations = folder.operations(module.operations)
            changed = Module(without_dead_code(module.operation.with_body(operations)))
            if not folder.changed:
                return changed
            module = changed
        return module


_INTEGERS = IntegerType | IndexType


@dataclass(slots=True)
class _Folder:
    """One walk from top to bottom; values are known before they are used.

    ``computed``: what the operations before compute that dominate the current one.
    """

    known: dict[Value, Index] = field(default_factory=dict[Value, Index])
    replaced: dict[Value, Value] = field(default_factory=dict[Value, Value])
    definitions: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    computed: ChainMap[object, Operation] = field(
        default_factory=ChainMap[object, Operation]
    )
    changed: bool = False

    def operations(self, operations: Sequence[Operation]) -> list[Operation]:
        result: list[Operation] = []
        for op in operations:
            result += self._one(op)
        return result

    def _one(self, op: Operation) -> list[Operation]:
        rebuilt = rewrite_maps(renamed(op, self.replaced), self.known)
        self.changed |= rebuilt is not op
        if self._cancels(rebuilt) or self._repeats(rebuilt):
            self.changed = True
            return []
        inlined = self._structure(rebuilt)
        if inlined is not None:
            self.changed = True
            return inlined
        folded = self._constant(rebuilt)
        if folded is not None:
            self.changed |= folded is not rebuilt
            rebuilt = folded
        rebuilt = self._regions(rebuilt)
        self._learn(rebuilt)
        return [rebuilt]

    def _cancels(self, op: Operation) -> bool:
        """Whether a cast undoes its operand's cast; then renames its results."""
        inner = self.definitions.get(op.operands[0]) if op.operands else None
        if op.name != _CAST or inner is None or inner.name != _CAST:
            return False
        before = [value.type for value in inner.operands]
        is_inverse = before == [value.type for value in op.results]
        if is_inverse and inner.results == op.operands:
            self.replaced.update(zip(op.results, inner.operands, strict=True))
            return True
        return False

    def _repeats(self, op: Operation) -> bool:
        """Whether an integer or assertion stands before; then renames its results."""
        is_integer = op.dialect in ("arith", "index") and op.name != "arith.constant"
        values = (*op.operands, *op.results)
        if not (is_integer or op.name == "cf.assert") or not all(
            isinstance(value.type, _INTEGERS) for value in values
        ):
            return False
        given = *op.attributes.items(), *op.properties.items()
        facts = frozenset(given) if is_integer else None
        operands = tuple(
            value if (number := self.integer(value)) is None else (number, value.type)
            for value in op.operands
        )
        types = tuple(value.type for value in op.results)
        before = self.computed.setdefault((op.name, operands, facts, types), op)
        if before is op:
            return False
        self.replaced.update(zip(op.results, before.results, strict=True))
        return True

    def _regions(self, op: Operation) -> Operation:
        if not op.regions:
            return op
        outer = self.computed
        self.computed = outer if op.name in AROUND else ChainMap[object, Operation]()
        regions = tuple(map(self._region, op.regions))
        self.computed = outer
        return op.with_(regions=regions)

    def _region(self, region: Region) -> Region:
        blocks = tuple(map(self._block, region.blocks))
        fewer = simplified(blocks, self.integer) if len(blocks) > 1 else blocks
        self.changed |= len(fewer) < len(blocks)
        return Region(fewer)

    def _block(self, block: Block) -> Block:
        self.computed = self.computed.new_child()
        operations = self.operations(block.operations)
        self.computed = self.computed.parents
        return block.with_operations(operations)

    def _learn(self, op: Operation) -> None:
        self.definitions.update(dict.fromkeys(op.results, op))
        if op.name == "affine.apply":
            attribute = op.attributes["map"]
            assert isinstance(attribute, AffineMapAttr)
            (self.known[op.result],) = from_map(attribute.map, op.operands)
        elif op.name == "arith.constant" and isinstance(op.result.type, IndexType):
            value = op.attributes["value"]
            assert isinstance(value, IntegerAttr)
            self.known[op.result] = Index(Const(value.value))

    def integer(self, value: Value) -> int | None:
        op = self.definitions.get(value)
        attribute = op.attributes.get("value") if op else None
        is_constant = op is not None and op.name == "arith.constant"
        return (
            attribute.value
            if is_constant and isinstance(attribute, IntegerAttr)
            else None
        )

    def signed(self, value: Value) -> int | None:
        found = self.integer(value)
        return None if found is None else _signed(found, value.type)

    def _constant(self, op: Operation) -> Operation | None:
        """The constant that an operation folds to, or None."""
        fold = _FOLDS.get(op.name)
        value = fold(self, op) if fold else None
        if value is None or len(op.results) != 1:
            return None
        ty = op.result.type
        if (
            not isinstance(element_type(ty), IntegerType | IndexType)
            or element_type(ty) is not ty
        ):
            return None
        return arith.constant_for(op, number(_wrapped(value, ty), ty))

    def _structure(self, op: Operation) -> list[Operation] | None:
        """Operations in place of a loop or condition with a known trip or truth.

        Assertions that hold vanish.
        """
        if op.name == "cf.assert" and self.integer(op.operands[0]):
            return []
        if op.name == "affine.if":
            return self._decided(op)
        if op.name == "scf.if":
            holds = self.integer(op.operands[0])
            return None if holds is None else self._chosen(op, holds=bool(holds))
        if op.name == "affine.for":
            return self._trivial(op)
        return None

    def _decided(self, op: Operation) -> list[Operation] | None:
        condition = op.attributes["condition"]
        assert isinstance(condition, IntegerSetAttr)
        known = [c for c in condition.set.constraints if isinstance(c.expr, Const)]
        holds = all(IntegerSet(0, 0, (c,)).contains(()) for c in known)
        if holds and len(known) < len(condition.set.constraints):
            return None
        return self._chosen(op, holds=holds)

    def _chosen(self, op: Operation, *, holds: bool) -> list[Operation]:
        chosen = op.regions[0 if holds else 1]
        return self._inlined(op, chosen.blocks[0].operations if chosen.blocks else ())

    def _trivial(self, op: Operation) -> list[Operation] | None:
        """A loop without iterations vanishes, one with a single one is inlined."""
        loop = affine.For(op)
        bounds = loop.constant_bounds
        if bounds is None or bounds[1] - bounds[0] > loop.step:
            return None
        if bounds[1] <= bounds[0]:
            self.replaced.update(zip(op.results, loop.inits, strict=True))
            return []
        constant = Operation(
            "arith.constant",
            results=(loop.iv,),
            attributes={"value": IntegerAttr(bounds[0], INDEX)},
            location=op.location,
        )
        self._learn(constant)
        self.replaced.update(zip(loop.iter_args, loop.inits, strict=True))
        return [constant, *self._inlined(op, loop.body)]

    def _inlined(self, op: Operation, body: Sequence[Operation]) -> list[Operation]:
        operations = self.operations(body)
        yielded = operations.pop().operands if operations else ()
        self.replaced.update(zip(op.results, yielded, strict=False))
        return operations


def _wrapped(value: int, ty: object) -> int:
    """An integer in the representation of constants: signed, except i1 true as 1."""
    return value & 1 if ty == I1 else _signed(value, ty)


def _signed(value: int, ty: object) -> int:
    """The signed number that an integer of this type stands for: -1 for true."""
    width = ty.width if isinstance(ty, IntegerType) else 64
    half = 1 << (width - 1)
    return (value + half) % (1 << width) - half


Fold = Callable[[_Folder, Operation], "int | None"]


def _binary(combine: Callable[[int, int], int]) -> Fold:
    def fold(folder: _Folder, op: Operation) -> int | None:
        left, right = (folder.signed(v) for v in op.operands)
        return None if left is None or right is None else combine(left, right)

    return fold


def _difference(folder: _Folder, op: Operation) -> int | None:
    """``x - x`` folds to 0."""
    if op.operands[0] is op.operands[1]:
        return 0
    return _binary(lambda a, b: a - b)(folder, op)


def _map_result(_: _Folder, op: Operation) -> int | None:
    attribute = op.attributes["map"]
    assert isinstance(attribute, AffineMapAttr)
    values = [r.value for r in attribute.map.results if isinstance(r, Const)]
    if len(values) != len(attribute.map.results):
        return None
    return min(values) if op.name == "affine.min" else max(values)


def _dim(folder: _Folder, op: Operation) -> int | None:
    shape = getattr(op.operands[0].type, "shape", None)
    index = folder.integer(op.operands[1])
    if shape is None or index is None or not 0 <= index < len(shape):
        return None
    return _part_extent(folder, op, index) if shape[index] is None else shape[index]


def _part_extent(folder: _Folder, op: Operation, index: int) -> int | None:
    """The constant extent of a subview, if its size is constant."""
    part = folder.definitions.get(op.operands[0])
    if part is None or part.name != "memref.subview":
        return None
    sizes, ty = Slice(part).sizes, part.result.type
    shape = ty.shape if isinstance(ty, MemRefType) else ()
    size = sizes[kept_dimensions(sizes, shape)[index]]
    return size if isinstance(size, int) else folder.integer(size)


def _comparison(folder: _Folder, op: Operation) -> int | None:
    compare = arith.COMPARED.get(arith.predicate(op))
    left, right = (folder.signed(v) for v in op.operands)
    if left is None or right is None or compare is None:
        return None
    return int(compare(left, right))


def _quotient(combine: Callable[[int, int], int]) -> Fold:
    """Division of numbers that are equal as signed and unsigned ones."""

    def fold(folder: _Folder, op: Operation) -> int | None:
        left, right = (folder.signed(v) for v in op.operands)
        if left is None or right is None or left < 0 or right <= 0:
            return None
        return combine(left, right)

    return fold


_QUOTIENTS: dict[str, Callable[[int, int], int]] = {
    **dict.fromkeys(("divui", "divsi", "floordivsi"), lambda a, b: a // b),
    **dict.fromkeys(("ceildivui", "ceildivsi"), lambda a, b: -(-a // b)),
    **dict.fromkeys(("remui", "remsi"), lambda a, b: a % b),
}


def _clamp(folder: _Folder, op: Operation) -> int | None:
    """The only number to which a clamp leaves a choice, such as min(max(x, 0), 0)."""
    if op.result.type != INDEX:
        return None
    found = range_of_value(op.result, ChainMap({op.result: op}, folder.definitions))
    return found.low if found.low == found.high else None


def _cast(folder: _Folder, op: Operation) -> int | None:
    return folder.signed(op.operands[0])


_FOLDS: dict[str, Fold] = {
    "arith.addi": _binary(lambda a, b: a + b),
    "arith.muli": _binary(lambda a, b: a * b),
    "arith.subi": _difference,
    "arith.andi": _binary(lambda a, b: a & b),
    "arith.ori": _binary(lambda a, b: a | b),
    "arith.xori": _binary(lambda a, b: a ^ b),
    "arith.index_cast": _cast,
    "arith.maxsi": _clamp,
    "arith.minsi": _clamp,
    "arith.cmpi": _comparison,
    **{f"arith.{name}": _quotient(fold) for name, fold in _QUOTIENTS.items()},
    "affine.apply": _map_result,
    "affine.min": _map_result,
    "affine.max": _map_result,
    "memref.dim": _dim,
    "tensor.dim": _dim,
}
