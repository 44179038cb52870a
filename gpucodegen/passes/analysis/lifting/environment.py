"""The lifter's symbol table: isl text of values, arrays and views.

It also writes affine expressions, maps and sets as isl text; the result is None where a
value has no affine form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, islice
from math import prod

from gpucodegen.dialects.shared.integer_ranges import HALF, range_of_value
from gpucodegen.dialects.shared.memory import MemorySpace, meaning
from gpucodegen.ir.affine import (
    AffineExpr,
    AffineMap,
    Binary,
    Const,
    Constraint,
    Dim,
    Sym,
)
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    IndexType,
    IntegerType,
    MemRefType,
    NoneType,
    UnrankedMemRefType,
    element_type,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import always_holds
from gpucodegen.tiling.model.scop import RESERVED, Access, AccessKind, Array

Texts = Sequence[str | None]


def isl_text(expr: AffineExpr, dims: Texts, syms: Texts = ()) -> str | None:
    """The expression in isl syntax over the given texts.

    >>> isl_text((Dim(0) * 2 + Sym(0)) // 4, ["i"], ["N"])
    'floor((2*i + N)/4)'
    """
    match expr:
        case Const(value):
            return str(value)
        case Dim(position):
            return dims[position]
        case Sym(position):
            return syms[position]
        case Binary(op, lhs, rhs):
            left, right = isl_text(lhs, dims, syms), isl_text(rhs, dims, syms)
            return None if left is None or right is None else _combine(op, left, right)
        case _:
            return None


_INTEGER = re.compile(r"-?\d+")
_ATOM = re.compile(r"\w+|floor\(\([^()]*\)/\d+\)")


def _group(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"


def _combine(op: str, left: str, right: str) -> str | None:
    if op == "+":
        is_negative = right.startswith("-")
        return f"{left} - {right[1:]}" if is_negative else f"{left} + {right}"
    if op == "*":
        return product(left, right)
    if not _INTEGER.fullmatch(right) or int(right) <= 0:
        return None
    divisor = int(right)
    return _DIVISIONS[op].format(
        left=left, group=_group(left), d=divisor, r=divisor - 1
    )


def product(left: str, right: str) -> str | None:
    """A product with one integer factor; isl wants it bare and in front.

    >>> product("i + 1", "-2"), product("i", "N")
    ('-2*(i + 1)', None)
    """
    for factor, other in ((right, left), (left, right)):
        if _INTEGER.fullmatch(factor):
            return f"{factor}*{_group(other)}"
    return None


_DIVISIONS = {
    "mod": "({group} mod {d})",
    "floordiv": "floor(({left})/{d})",
    "ceildiv": "floor(({left} + {r})/{d})",
}


def map_texts(map_: AffineMap, operands: Texts) -> tuple[str | None, ...]:
    """One isl text per result of a map applied to dimensions, then symbols."""
    dims, syms = operands[: map_.num_dims], operands[map_.num_dims :]
    return tuple(isl_text(result, dims, syms) for result in map_.results)


def constraint_texts(
    constraints: Sequence[Constraint], dims: Texts, syms: Texts
) -> tuple[str, ...] | None:
    """isl constraints of an integer set, or None when one is not affine."""
    texts: list[str] = []
    for constraint in constraints:
        text = isl_text(constraint.expr, dims, syms)
        if text is None:
            return None
        texts.append(f"{text} {'=' if constraint.equality else '>='} 0")
    return tuple(texts)


class IslNames:
    """Fresh isl identifiers made from hints.

    >>> names = IslNames()
    >>> names.fresh("i"), names.fresh("i"), names.fresh("mod"), names.fresh("0")
    ('i', 'i_1', 'mod_1', 'v0')
    """

    def __init__(self) -> None:
        self._used: set[str] = set(RESERVED)
        self._last: dict[str, int] = {}

    def fresh(self, hint: str, default: str = "v") -> str:
        """An identifier not given before."""
        base = re.sub(r"\W", "_", hint) or default
        if not base[0].isalpha():
            base = default + base
        name, count = base, self._last.get(base, 0)
        while name in self._used:
            count += 1
            name = f"{base}_{count}"
        self._used.add(name)
        self._last[base] = count
        return name


Text = str | None
Extent = int | str | None


@dataclass(frozen=True, slots=True)
class View:
    """A memref that shows cells of another one.

    ``offsets`` and ``strides`` map an index of the view to one of the base, dimension
    by dimension in ``kept``; None when the relation has no affine form.
    ``groups``: extents of the dimensions of the view that are one of the base each;
    ``within``: only for indices that are proven to lie within these extents, as others
    have no cell of the view, but one of the base.
    ``splits``: extents of the dimensions of the base that are one of the view each.
    """

    base: Value
    offsets: tuple[Text, ...] | None = None
    strides: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    splits: tuple[tuple[int, ...], ...] = ()
    within: bool = False

    def base_indices(self, indices: Sequence[Text], rank: int) -> tuple[Text, ...]:
        """Indices into the base of the cell at ``indices`` of the view."""
        if self.groups:
            remaining = iter(indices)
            return tuple(_flat(group, remaining) for group in self.groups)
        if self.splits:
            pairs = zip(self.splits, indices, strict=True)
            return tuple(chain.from_iterable(_coordinates(*pair) for pair in pairs))
        if self.offsets is None:
            return (None,) * rank
        result = list(self.offsets)
        for dimension, index in zip(self.kept, indices, strict=True):
            result[dimension] = _shifted(
                self.offsets[dimension], self.strides[dimension], index
            )
        return tuple(result)

    def inner_bounds(self, indices: Sequence[Text]) -> Iterator[str]:
        """0 <= index < extent for all but the first dimension of each group."""
        remaining = iter(indices)
        for group in self.groups:
            own = tuple(islice(remaining, len(group)))
            for extent, index in zip(group[1:], own[1:], strict=True):
                if index is not None:
                    yield f"0 <= {index} < {extent}"


def _flat(extents: Sequence[int], indices: Iterator[Text]) -> Text:
    """The row-major index of as many indices as there are extents."""
    flat: Text = "0"
    for extent in extents:
        index = next(indices)
        flat = _shifted(index, extent, flat) if flat != "0" else index
    return flat


def _coordinates(extents: Sequence[int], index: Text) -> Iterator[Text]:
    """The indices of the cell at a row-major index; the first extent is not needed.

    >>> list(_coordinates((3, 4, 5), "i"))
    ['floor((i)/20)', '(floor((i)/5) mod 4)', '((i) mod 5)']
    >>> list(_coordinates((7,), "i + 1"))
    ['i + 1']
    """
    for position, extent in enumerate(extents):
        below = prod(extents[position + 1 :])
        if index is None or len(extents) == 1:
            yield index
            continue
        part = f"({index})" if below == 1 else f"floor(({index})/{below})"
        yield part if position == 0 else f"({part} mod {extent})"


_OUTSIDE = Value(NoneType(), "outside")


def _rank(buffer: Value, otherwise: int) -> int:
    """Dimensions of the array of a buffer; an unranked buffer counts as one line."""
    if isinstance(buffer.type, UnrankedMemRefType):
        return 1
    return getattr(buffer.type, "rank", otherwise)


def _is_private(space: Attribute | None) -> bool:
    """Whether each thread has a separate copy of kernel buffers in a memory space."""
    return space is None or meaning(space) is MemorySpace.PRIVATE


def _shifted(offset: Text, stride: int, index: Text) -> Text:
    if offset is None or index is None:
        return None
    scaled = index if stride == 1 else f"{stride}*({index})"
    return scaled if offset == "0" else f"{offset} + {scaled}"


@dataclass(slots=True)
class Environment:
    """Mutable state of one lifting; discarded with it."""

    definitions: Mapping[Value, Operation] = field(
        default_factory=dict[Value, Operation]
    )
    names: IslNames = field(default_factory=IslNames)
    texts: dict[Value, Text] = field(default_factory=dict[Value, Text])
    parameters: dict[Value, str] = field(default_factory=dict[Value, str])
    arrays: dict[Value, Array] = field(default_factory=dict[Value, Array])
    views: dict[Value, View] = field(default_factory=dict[Value, View])
    collapses: bool = True
    collapsed: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """Buffers that are modelled as views of their own collapsed views."""
    extents: dict[tuple[Value, int], str] = field(
        default_factory=dict[tuple[Value, int], str]
    )
    sizes: dict[tuple[Value, int], str] = field(
        default_factory=dict[tuple[Value, int], str]
    )
    """Names of extents, from the program's ``memref.dim``."""
    context: list[str] = field(default_factory=list[str])
    scope: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    """The affine conditions around an operation."""
    given: frozenset[Value] = frozenset()
    """The arguments of a kernel, which all its threads share."""
    ranges: dict[str, tuple[str, ...]] = field(
        default_factory=dict[str, "tuple[str, ...]"]
    )
    """Per loop variable, its constraints inside of the loop."""
    rounds: set[str] = field(default_factory=set[str])
    """Loops of several blocks in any order: their buffers live for many iterations."""
    masks: dict[Value, tuple[str, ...]] = field(
        default_factory=dict[Value, "tuple[str, ...]"]
    )
    """Per mask, upper bounds of the lanes that it selects."""
    globals: dict[str, Value] = field(default_factory=dict[str, Value])
    joined: list[set[Value]] = field(default_factory=list[set[Value]])
    """Memrefs that may overlap because a call returns, or a branch yields, one."""
    summarised: int = 0
    """Operations of called functions looked at so far."""
    threads: tuple[str, ...] = ()
    """Thread loops of a kernel, which index its private buffers."""
    blocks: tuple[str, ...] | None = None
    """Block loops of a kernel, which index its shared memory."""
    lane: Text = None
    """The lane of a thread in its warp, where block extents determine it."""
    trusts_indices: bool = False
    """Indices lie within their dimensions, also where views join several."""

    def text(self, value: Value) -> Text:
        """isl text of an index value; an undefined value becomes a parameter."""
        if value not in self.texts:
            is_integer = isinstance(value.type, IndexType | IntegerType)
            name = self.names.fresh(value.name, "p") if is_integer else None
            self.texts[value] = name
            if name is not None:
                self.parameters[value] = name
                self.context += self._limits(value, name)
        return self.texts[value]

    def _limits(self, value: Value, name: str) -> Iterator[str]:
        """Constraints of a parameter's range, where its bounds are small."""
        low, high, _ = range_of_value(value, self.definitions)
        if low > HALF.low:
            yield f"{name} >= {low}"
        if high < HALF.high:
            yield f"{name} <= {high}"

    def all_texts(self, values: Sequence[Value]) -> tuple[Text, ...]:
        """:meth:`text` of each value."""
        return tuple(map(self.text, values))

    def bounded(
        self, name: str, lower: Sequence[str], upper: Sequence[str], step: int = 1
    ) -> None:
        """Note the range of a loop variable."""
        counted = [f"({name} - ({lower[0]})) mod {step} = 0"] if len(lower) == 1 else []
        self.ranges[name] = (
            *(f"{name} >= {bound}" for bound in lower),
            *(f"{name} < {bound}" for bound in upper),
            *(counted if step > 1 else ()),
        )

    @property
    def inside(self) -> tuple[str, ...]:
        """The constraints on the enclosing loop variables."""
        return tuple(c for name in self.scope for c in self.ranges.get(name, ()))

    def varies(self, text: str) -> bool:
        """Whether a text mentions a variable of an enclosing loop."""
        return not set(re.findall(r"\w+", text)).isdisjoint(self.scope)

    def forget(self, op: Operation) -> None:
        """Give results without an affine form: unknown in loops, parameters outside."""
        if self.scope:
            for value in op.results:
                self.texts.setdefault(value, None)

    @property
    def lifetime(self) -> tuple[str, ...]:
        """The enclosing loops whose iterations each have a separate buffer."""
        return tuple(name for name in self.scope if name not in self.rounds)

    def extent(self, memref: Value, dimension: int) -> str:
        """The parameter that stands for a dynamic extent."""
        key = (self.root(memref), dimension)
        if key not in self.extents:
            own = self.sizes.get((memref, dimension))
            name = self.names.fresh(own or f"{memref.name or 'm'}_size{dimension}")
            self.extents[key] = name
            self.context.append(f"{name} >= 0")
        return self.extents[key]

    def said(self) -> Iterator[tuple[str, str]]:
        """Parameters without a name in the program, with their description."""
        for (memref, dimension), name in self.extents.items():
            if (memref, dimension) not in self.sizes and memref in self.arrays:
                yield name, f"dim {dimension} of {self.arrays[memref].name}"

    def root(self, memref: Value) -> Value:
        while memref in self.views:
            memref = self.views[memref].base
        return memref

    def array(self, memref: Value) -> Array:
        """The array of a root buffer, declared when first seen."""
        if memref not in self.arrays:
            self.declare(memref)
        return self.arrays[memref]

    def declare(
        self,
        memref: Value,
        *,
        local: bool = False,
        fresh: bool = False,
        forgotten: bool = False,
        private: bool | None = None,
        scoped_extents: Sequence[tuple[int, str]] = (),
    ) -> None:
        """Declare the array of a buffer; a local one is another in each iteration.

        ``private``: one per thread; by default decided by its memory space.
        """
        shape: tuple[Extent, ...] = (None,) * _rank(memref, 0)
        if isinstance(memref.type, MemRefType):
            shape = tuple(
                self.extent(memref, d) if extent is None else extent
                for d, extent in enumerate(memref.type.shape)
            )
        name = self.names.fresh(memref.name, "m")
        if private is None:
            private = _is_private(getattr(memref.type, "memory_space", None))
        of_block = self.lifetime if self.blocks is None else self.blocks
        own = (*self.threads, *self.lifetime) if private else of_block
        scope = own if local else ()
        others = set(self.scope) - set(scope)
        decided = [
            (at, text)
            for at, text in scoped_extents
            if others.isdisjoint(re.findall(r"\w+", text))
        ]
        self.arrays[memref] = Array(
            name,
            shape,
            scope,
            fresh=fresh,
            forgotten=forgotten,
            loc=memref.location,
            scoped_extents=tuple(decided),
        )

    def register(self, value: Value) -> Array:
        """The 0-d array of a loop-carried value, private to the current iteration."""
        array = Array(
            self.names.fresh(value.name, "r"),
            scope=(*self.threads, *self.lifetime),
            register=True,
            fresh=True,
            forgotten=True,
            loc=value.location,
        )
        self.arrays[value] = array
        return array

    @property
    def outside(self) -> Array:
        """The cell that models all state outside buffers: files, the screen."""
        if _OUTSIDE not in self.arrays:
            self.arrays[_OUTSIDE] = Array(self.names.fresh("outside"), ordered=True)
        return self.arrays[_OUTSIDE]

    def groups(self, stated: Mapping[Value, object]) -> dict[str, object]:
        """The group of each array that may overlap others; ``stated`` for arguments."""
        found = {self.root(value): group for value, group in stated.items()}
        for number, values in enumerate(self.joined):
            roots = {self.root(value) for value in values}
            old = {found[root] for root in roots if root in found}
            members = [value for value, group in found.items() if group in old]
            found.update(dict.fromkeys((*members, *roots), number))
        return {
            array.name: found[value]
            for value, array in self.arrays.items()
            if value in found
        }

    def buffers(self, storages: Mapping[str, str]) -> dict[str, Value]:
        """The value of each array; a storage of several has one of no rank."""
        found = {array.name: value for value, array in self.arrays.items()}
        for name, storage in storages.items():
            memory = UnrankedMemRefType(element_type(found[name].type))
            found.setdefault(storage, Value(memory, storage))
        return found

    def outside_access(self, location: Location) -> Access:
        """An ordered access to the outside state."""
        name = self.outside.name
        return Access(name, AccessKind.WRITE, (), assumed=True, loc=location)

    def ranged(
        self, memref: Value, indices: Sequence[Text]
    ) -> tuple[tuple[Text, ...], tuple[tuple[str, str], ...]]:
        """Unknown indices as iterators over the buffer's extent, and their ranges.

        Where views join several indices into one, an unknown one would hide the others.
        """
        texts, span = list(indices), list[tuple[str, str]]()
        extents = getattr(memref.type, "shape", ())
        if None in texts and any(texts) and self._joins_indices(memref):
            for at, extent in enumerate(extents):
                if texts[at] is None and extent:
                    texts[at] = name = self.names.fresh("any")
                    span.append((name, str(extent)))
        return tuple(texts), tuple(span)

    def _joins_indices(self, memref: Value) -> bool:
        """Whether a view joins several of its indices into one of the base."""
        while memref in self.views:
            view = self.views[memref]
            if any(len(group) > 1 for group in view.groups):
                return True
            memref = view.base
        return False

    def kept_apart(self, memref: Value, indices: Sequence[Text]) -> tuple[str, ...]:
        """Constraints that keep joined indices injective.

        Row-major, (i, j) -> n*i + j tells cells apart for 0 <= j < n only.
        """
        if not self.trusts_indices:
            return ()
        found: list[str] = []
        while memref in self.views:
            view = self.views[memref]
            found += view.inner_bounds(indices)
            indices = self._in_base(view, indices)
            memref = view.base
        return tuple(found)

    def _in_base(self, view: View, indices: Sequence[Text]) -> tuple[Text, ...]:
        """Indices into the base of a view; None where they have no affine form."""
        rank = _rank(view.base, len(indices))
        if view.within and not (self.trusts_indices or self._is_inside(view, indices)):
            return (None,) * rank
        return view.base_indices(indices, rank)

    def _is_inside(self, view: View, indices: Sequence[Text]) -> bool:
        """Whether all but the first index of each group are proven to be in bounds."""
        names = (*self.scope, *self.threads)
        known = [c for name in names for c in self.ranges.get(name, ())]
        return None not in indices and all(
            always_holds(bounds, [*known, *self.guards, *self.context])
            for bounds in view.inner_bounds(indices)
        )

    def resolve(
        self, memref: Value, indices: Sequence[Text]
    ) -> tuple[Array, tuple[Text, ...]]:
        """Root array and indices into it of an access through any views."""
        while memref in self.views:
            view = self.views[memref]
            indices = self._in_base(view, indices)
            memref = view.base
        return self.array(memref), tuple(indices)
