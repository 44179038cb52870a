"""Index values as isl text, computed from loop variables and parameters.

Each operation on indices has a rule that defines the isl text of its result; operations
that make views define the view's layout.  `is_uniform` tells whether all threads of a
block compute the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.gcg import STATED_SIZE
from gpucodegen.dialects.memref import Slice
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.dialects.shared.memory import ALLOCATIONS, is_shared
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import AffineMapAttr, DenseArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IndexType, MemRefType
from gpucodegen.passes.analysis.lifting.environment import (
    Environment,
    Text,
    View,
    map_texts,
    product,
)
from gpucodegen.tiling.model.isl import always_holds

Definitions = Mapping[Value, Operation]
Extents = tuple[int, ...]


def define(op: Operation, env: Environment, definitions: Definitions) -> bool:
    """Record the view that ``op`` makes; False if it makes none."""
    if op.name in NAMED:
        env.views[op.result] = same(global_buffer(op, env), op.result)
        return True
    if op.name == COLLAPSE and _is_shown_collapsed(op, env, definitions):
        return True
    make = _VIEW_MAKERS.get(op.name)
    if make is None or not op.operands or not op.results:
        return False
    env.views[op.results[0]] = make(op, env, definitions)
    return True


def has_collapses(function: Operation) -> bool:
    return any(op.name == COLLAPSE for op in function.walk())


def foresee(function: Operation, env: Environment, definitions: Definitions) -> None:
    """Model buffers that are collapsed somewhere by their collapsed form throughout."""
    for op in function.walk():
        if op.name == COLLAPSE:
            _is_shown_collapsed(op, env, definitions)


CAST = "memref.reinterpret_cast"
NAMED = frozenset({"memref.get_global", "gpu.dynamic_shared_memory"})
"""Operations that result in the same memory wherever they state the same name."""


def global_buffer(op: Operation, env: Environment) -> Value:
    """The buffer shared by all `NAMED` operations of one name."""
    name = str(op.attributes.get("name"))
    return env.globals.setdefault(name, op.result.renewed())


def same(base: Value, view: Value) -> View:
    """The identity view of a buffer."""
    if not isinstance(base.type, MemRefType) or not isinstance(view.type, MemRefType):
        return View(base)
    rank = base.type.rank
    return View(base, ("0",) * rank, (1,) * rank, tuple(range(rank)))


def _same(op: Operation, _: Environment, __: Definitions) -> View:
    return same(op.operands[0], op.results[0])


COLLAPSE = "memref.collapse_shape"
ALIGNED = "memref.assume_alignment"


def unstated(memref: Value, definitions: Definitions) -> Value:
    """The operand of ``memref.assume_alignment``, for its result."""
    while (made := definitions.get(memref)) is not None and made.name == ALIGNED:
        memref = made.operands[0]
    return memref


def _is_shown_collapsed(
    op: Operation, env: Environment, definitions: Definitions
) -> bool:
    """Make the collapsed view of a buffer the array, and the buffer a view of it.

    An index of the buffer is an affine one of the view, but not the other way round.
    """
    if not env.collapses:
        return False
    shown, groups = _collapsed(op, definitions)
    base, view = _turned_back(shown, env, definitions), op.results[0]
    ty = base.type
    is_row_major = isinstance(ty, MemRefType) and ty.layout is None
    shape = ty.shape if isinstance(ty, MemRefType) else ()
    if not is_row_major or None in shape or not _is_buffer(base, definitions):
        return False
    extents = tuple(tuple(shape[d] or 0 for d in group) for group in groups)
    if view in env.views or env.collapsed.get(base) is view:
        return True
    if base in env.collapsed:
        _show_again(base, view, extents, env)
        return True
    if base in env.views or base in env.arrays:
        return False
    env.collapsed[base] = view
    env.views[base] = View(view, groups=extents, within=True)
    return True


def _turned_back(memref: Value, env: Environment, definitions: Definitions) -> Value:
    """The buffer under casts and transpositions that cancel each other."""
    order = whole = tuple(range(getattr(memref.type, "rank", 0)))
    base = memref
    while (made := definitions.get(base)) is not None and made.name in _TURNING:
        view = _VIEW_MAKERS[made.name](made, env, definitions)
        if len(view.kept) != len(whole):
            return memref
        order = tuple(view.kept[d] for d in order)
        base = view.base
    return base if order == whole else memref


def _is_buffer(base: Value, definitions: Definitions) -> bool:
    """Whether a value is an argument or an allocation."""
    made = definitions.get(base)
    return made is None or made.name in ALLOCATIONS


def _collapsed(
    op: Operation, definitions: Definitions
) -> tuple[Value, tuple[tuple[int, ...], ...]]:
    """The buffer at the root of collapsed views, and the groups of its dimensions."""
    groups = groups_of(op.attributes.get("reassociation"))
    base = unstated(op.operands[0], definitions)
    before = definitions.get(base)
    if before is None or before.name != COLLAPSE:
        return base, tuple(map(tuple, groups))
    origin, finer = _collapsed(before, definitions)
    return origin, tuple(tuple(d for g in group for d in finer[g]) for group in groups)


def _show_again(
    base: Value, view: Value, extents: tuple[Extents, ...], env: Environment
) -> None:
    """Model another collapsed view: of the array, or of a common finer array.

    An accessed array is not replaced, and views without an affine form may be any cell.
    """
    known, shown = env.collapsed[base], env.views[base].groups
    joined = _joined(shown, extents)
    if joined != shown and known in env.arrays:
        env.views[view] = View(known)
        return
    array = known
    if joined != shown:
        array = view if joined == extents else _array(base, joined)
        env.collapsed[base] = array
        env.views[known] = View(array, groups=_within(joined, shown), within=True)
        env.views[base] = View(array, groups=joined, within=True)
    if array is not view:
        env.views[view] = View(array, groups=_within(joined, extents), within=True)


def _array(base: Value, groups: tuple[Extents, ...]) -> Value:
    """The value that stands for a buffer with its dimensions grouped."""
    assert isinstance(base.type, MemRefType)
    shape = tuple(map(prod, groups))
    return base.renewed(MemRefType(shape, base.type.element))


def _joined(
    one: tuple[Extents, ...], other: tuple[Extents, ...]
) -> tuple[Extents, ...]:
    """The finest groups that no group of either crosses.

    >>> _joined(((2, 3), (4,), (5,)), ((2,), (3,), (4, 5)))
    ((2, 3), (4, 5))
    """
    extents = [extent for group in one for extent in group]
    ends = sorted(_ends(one) & _ends(other))
    starts = [0, *ends[:-1]]
    return tuple(tuple(extents[a:b]) for a, b in zip(starts, ends, strict=True))


def _ends(groups: tuple[Extents, ...]) -> set[int]:
    """The number of dimensions up to the end of each group."""
    return set(accumulate(map(len, groups)))


def _within(coarse: Sequence[Extents], fine: Sequence[Extents]) -> tuple[Extents, ...]:
    """Extents of the fine groups in each coarse one, whose ends they do not cross.

    >>> _within([(3, 4, 5)], [(3, 4), (5,)])
    ((12, 5),)
    """
    pieces, found = list(fine), list[Extents]()
    for group in coarse:
        inside: list[int] = []
        count = 0
        while count < len(group):
            piece = pieces.pop(0)
            count += len(piece)
            inside.append(prod(piece))
        found.append(tuple(inside))
    return tuple(found)


def _unknown(op: Operation, _: Environment, __: Definitions) -> View:
    return View(op.operands[0])


def _collapsed_view(op: Operation, _: Environment, __: Definitions) -> View:
    """A view whose dimensions are several of another view each, of known extents."""
    base = op.operands[0]
    shape = base.type.shape if isinstance(base.type, MemRefType) else ()
    groups = groups_of(op.attributes.get("reassociation"))
    splits = [tuple(shape[d] for d in group) for group in groups]
    if any(None in split[1:] for split in splits):
        return View(base)
    return View(base, splits=tuple(tuple(n or 0 for n in split) for split in splits))


def _expanded_view(op: Operation, _: Environment, __: Definitions) -> View:
    """A view that splits dimensions, of known extents.

    Extents that operands state are related to nothing in the model.
    """
    made = op.results[0].type
    shape = made.shape if isinstance(made, MemRefType) else ()
    known = tuple(n for n in shape if n is not None)
    base, *sizes = op.operands
    is_stated = bool(sizes) or STATED_SIZE in op.attributes
    if is_stated or not shape or len(known) < len(shape):
        return View(base)
    groups = groups_of(op.attributes.get("reassociation"))
    extents = tuple(tuple(known[d] for d in group) for group in groups)
    return View(base, groups=extents, within=True)


DYNAMIC_SENTINEL = -(2**63)


def _subview(op: Operation, env: Environment, _: Definitions) -> View:
    """Offsets and constant strides; a dropped dimension stays at its offset."""
    base, *dynamic = op.operands
    offsets, sizes, strides = (
        op.attributes.get(f"static_{part}") for part in ("offsets", "sizes", "strides")
    )
    if not all(isinstance(a, DenseArrayAttr) for a in (offsets, sizes, strides)):
        return View(base)
    assert isinstance(offsets, DenseArrayAttr)
    assert isinstance(sizes, DenseArrayAttr)
    assert isinstance(strides, DenseArrayAttr)
    if DYNAMIC_SENTINEL in strides.values:
        return View(base)
    operands = iter(dynamic)
    texts: tuple[Text, ...] = tuple(
        env.text(next(operands)) if value == DYNAMIC_SENTINEL else str(value)
        for value in offsets.values
    )
    kept = _kept_dimensions(sizes.values, op.results[0])
    if kept is None:
        return View(base)
    return View(base, texts, tuple(int(s) for s in strides.values), kept)


def _kept_dimensions(
    sizes: tuple[int | float, ...], result: Value
) -> tuple[int, ...] | None:
    """Source dimensions that the result keeps: unit ones may have been dropped.

    Which of several unit dimensions is no matter, as each is at its offset either way.

    >>> from gpucodegen.ir.types import F32, MemRefType
    >>> box = Value(MemRefType((1, 2, 64), F32))
    >>> _kept_dimensions((1, 1, 2, 64), box), _kept_dimensions((1, 2, 2, 64), box)
    ((0, 2, 3), None)
    """
    shape = result.type.shape if isinstance(result.type, MemRefType) else ()
    kept: list[int] = []
    for d, size in enumerate(sizes):
        is_one_more = len(kept) < len(shape) and shape[len(kept)] == 1
        if size != 1 or is_one_more:
            kept.append(d)
    return tuple(kept) if len(kept) == len(shape) else None


def _transposed(op: Operation, _: Environment, __: Definitions) -> View:
    """The dimensions of the buffer in another order."""
    permutation = op.attributes["permutation"]
    assert isinstance(permutation, AffineMapAttr)
    order = tuple(r.position for r in permutation.map.results if isinstance(r, Dim))
    return View(op.operands[0], ("0",) * len(order), (1,) * len(order), order)


_VIEW_MAKERS: dict[str, Callable[[Operation, Environment, Definitions], View]] = {
    "memref.cast": _same,
    "memref.assume_alignment": _same,
    "memref.transpose": _transposed,
    "memref.view": _unknown,
    "memref.reshape": _unknown,
    "memref.memory_space_cast": _same,
    "memref.subview": _subview,
    CAST: _unknown,
    "memref.extract_strided_metadata": _unknown,
    "memref.expand_shape": _expanded_view,
    COLLAPSE: _collapsed_view,
}

_TURNING = frozenset({"memref.cast", ALIGNED, "memref.transpose"})
VIEWS = frozenset(_VIEW_MAKERS)
"""The operations that make one."""


Evaluate = Callable[[Operation, Environment, Definitions], Text]


def index_text(op: Operation, env: Environment, definitions: Definitions) -> Text:
    """The text of the operation's result, or None where it has no affine form."""
    evaluate = _INDEX_TEXTS.get(op.name)
    return evaluate(op, env, definitions) if evaluate and op.results else None


def _apply(op: Operation, env: Environment, _: Definitions) -> Text:
    (text,) = map_texts(affine.map_of(op), env.all_texts(op.operands))
    return text


def _constant(op: Operation, _: Environment, __: Definitions) -> Text:
    value = op.attributes.get("value")
    return str(value.value) if isinstance(value, IntegerAttr) else None


def _binary(combine: Callable[[str, str], Text]) -> Evaluate:
    """Arithmetic on ``index``, which the model takes as unbounded integers."""

    def evaluate(op: Operation, env: Environment, _: Definitions) -> Text:
        left, right = env.all_texts(op.operands)
        if left is None or right is None or not isinstance(op.result.type, IndexType):
            return None
        return combine(left, right)

    return evaluate


def _divided(text: str) -> Evaluate:
    """Quotient or remainder of a natural number by a constant."""

    def evaluate(op: Operation, env: Environment, _: Definitions) -> Text:
        left, right = env.all_texts(op.operands)
        if left is None or right is None or not right.isdecimal() or right == "0":
            return None
        names = (*env.scope, *env.threads)
        known = [c for name in names for c in env.ranges.get(name, ())]
        natural = always_holds(f"{left} >= 0", [*known, *env.guards, *env.context])
        return text.format(left, right) if natural else None

    return evaluate


def _cast(op: Operation, env: Environment, _: Definitions) -> Text:
    return env.text(op.operands[0])


def _dim(op: Operation, env: Environment, definitions: Definitions) -> Text:
    memref, index = op.operands
    defined = definitions.get(index)
    value = None if defined is None else defined.attributes.get("value")
    texts = extents(unstated(memref, definitions), env, definitions)
    if not isinstance(value, IntegerAttr) or not 0 <= value.value < len(texts):
        return None
    return texts[value.value]


def extents(
    memref: Value, env: Environment, definitions: Definitions
) -> tuple[Text, ...]:
    """The extents of a memref; None where the sizes of a view are not stated."""
    shape = memref.type.shape if isinstance(memref.type, MemRefType) else ()
    stated: tuple[Text, ...] = (None,) * len(shape)
    view, made = env.views.get(memref), definitions.get(memref)
    if view is None:
        stated = tuple(
            env.extent(memref, d) if n is None else None for d, n in enumerate(shape)
        )
    elif made is not None and made.name in ("memref.subview", CAST):
        sizes = Slice(made).sizes
        kept = view.kept or tuple(range(len(sizes)))
        if len(kept) == len(shape):
            stated = tuple(
                str(size) if isinstance(size, int) else env.text(size)
                for size in (sizes[d] for d in kept)
            )
    numbers = (None if n is None else str(n) for n in shape)
    return tuple(n or text for n, text in zip(numbers, stated, strict=True))


def _extreme(function: str) -> Evaluate:
    """``affine.min`` and ``affine.max``."""

    def evaluate(op: Operation, env: Environment, _: Definitions) -> Text:
        texts = map_texts(affine.map_of(op), env.all_texts(op.operands))
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            return None
        return known[0] if len(known) == 1 else f"{function}({', '.join(known)})"

    return evaluate


_INDEX_TEXTS: dict[str, Evaluate] = {
    "affine.apply": _apply,
    "affine.min": _extreme("min"),
    "affine.max": _extreme("max"),
    "arith.constant": _constant,
    "arith.addi": _binary(lambda a, b: f"({a} + {b})"),
    "arith.subi": _binary(lambda a, b: f"({a} - ({b}))"),
    "arith.muli": _binary(product),
    **dict.fromkeys(("arith.divui", "arith.divsi"), _divided("floor(({})/{})")),
    **dict.fromkeys(("arith.remui", "arith.remsi"), _divided("(({}) mod {})")),
    "arith.index_cast": _cast,
    "memref.dim": _dim,
}


PURE = frozenset({"affine", "arith", "index", "math", "memref"})
OF_A_BLOCK = frozenset(
    {"gpu.all_reduce", "gpu.block_dim", "gpu.block_id", "gpu.grid_dim"}
)
LOADS = frozenset({"affine.load", "memref.load"})
STATED = "memref.assume_alignment"
"""Its result is its operand."""
LOCAL_ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})


def is_uniform(
    value: Value, definitions: Mapping[Value, Operation], given: frozenset[Value]
) -> bool:
    """Whether a value depends on no thread; ``given`` are a kernel's arguments.

    Threads that load the same cell at the same place of the program see the same value,
    for a write between their loads would be a race.  A buffer depends on no thread if
    the block has it, and a view of it if its offset and extents do not.
    """
    made = definitions.get(value)
    if made is None:
        return value in given
    if made.name in OF_A_BLOCK:
        return True
    if made.name in LOCAL_ALLOCATIONS:
        return _is_of_block(value)
    if made.name not in {*LOADS, STATED} and not (
        made.dialect in PURE and _is_pure(made)
    ):
        return False
    return all(is_uniform(operand, definitions, given) for operand in made.operands)


def _is_of_block(memref: Value) -> bool:
    return isinstance(memref.type, MemRefType) and is_shared(memref.type.memory_space)


def _is_pure(op: Operation) -> bool:
    found = lookup(op.name)
    return found is not None and found.has(Trait.PURE) and not op.regions
