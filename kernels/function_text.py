"""Builds the MLIR text of one function: arguments, buffers and loop nests.

Scalar bodies are Python functions. Constants, extents and views precede all other
operations.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import field

from gpucodegen.kernels.elements import I64, INDEX, Element
from gpucodegen.kernels.scalar_text import Scalars, Value
from gpucodegen.records import dataclass

Bound = int | str
"""A number, or the name of an index."""
Body = Callable[..., Value | Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Memref:
    """A buffer by its name; ``layout`` if it need not be contiguous."""

    name: str
    element: Element
    rank: int
    layout: str = ""

    @property
    def type(self) -> str:
        return f"memref<{'?x' * self.rank}{self.element.mlir}{self.layout}>"


@dataclass(frozen=True, slots=True)
class Operand:
    """A buffer and its indexing expressions in a nest, one per dimension."""

    memref: Memref
    at: Sequence[str]


@dataclass(slots=True)
class Text(Scalars):
    """The text of a function under construction."""

    name: str = "kernel"
    arguments: list[str] = field(default_factory=list[str])
    allocated: list[Memref] = field(default_factory=list[Memref])

    def array(self, name: str, element: Element, rank: int, layout: str = "") -> Memref:
        made = Memref(f"%{name}", element, rank, layout)
        self.arguments.append(f"{made.name}: {made.type}")
        return made

    def number(self, name: str, element: Element) -> Value:
        self.arguments.append(f"%{name}: {element.mlir}")
        return Value(f"%{name}", element)

    def dim(self, memref: Memref, axis: int) -> str:
        at = self.constant(axis, INDEX).name
        return self.once(f"memref.dim {memref.name}, {at} : {memref.type}")

    def dims(self, memref: Memref) -> list[str]:
        return [self.dim(memref, axis) for axis in range(memref.rank)]

    def alloc(self, element: Element, extents: Sequence[str]) -> Memref:
        """A buffer that lives until the function returns."""
        name = self.fresh()
        made = Memref(name, element, len(extents))
        self.head.append(f"{name} = memref.alloc({', '.join(extents)}) : {made.type}")
        self.allocated.append(made)
        return made

    def collapsed(self, memref: Memref, groups: Sequence[Sequence[int]]) -> Memref:
        """A view that collapses groups of adjacent dimensions."""
        if len(groups) == memref.rank or not groups:
            return memref
        inner = ", ".join(str(list(group)) for group in groups)
        made = Memref("", memref.element, len(groups))
        line = f"memref.collapse_shape {memref.name} [{inner}]"
        name = self.once(f"{line} : {memref.type} into {made.type}")
        return Memref(name, memref.element, len(groups))

    def fill(self, memref: Memref, value: Value) -> None:
        types = f"({value.element.mlir}) outs({memref.name} : {memref.type})"
        self.line(f"linalg.fill ins({value.name} : {types[1:]}")

    def generic(
        self,
        iterators: str,
        inputs: Sequence[Operand],
        outputs: Sequence[Operand],
        body: Body,
        *,
        as_stored: bool = False,
    ) -> None:
        """A structured operation: an iterator, p or r, for each of d0, d1, ...

        ``body`` maps the elements read, results last, to those written. It gets numbers
        in the type of operations, unless ``as_stored``, and its results are rounded to
        the stored type.
        """
        every = [*inputs, *outputs]
        loops = ", ".join(f"d{n}" for n in range(len(iterators)))
        maps = [f"affine_map<({loops}) -> ({', '.join(o.at)})>" for o in every]
        kinds = ", ".join(f'"{_ITERATORS[kind]}"' for kind in iterators)
        ends = f"indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]"
        self.line(f"linalg.generic {{{ends}}}")
        for word, operands in (("ins", inputs), ("outs", outputs)):
            if operands:
                names = ", ".join(o.memref.name for o in operands)
                types = ", ".join(o.memref.type for o in operands)
                self.line(f"    {word}({names} : {types})")
        self.lines[-1] += " {"
        given = [Value(self.fresh(), o.memref.element) for o in every]
        inner = ", ".join(f"{v.name}: {v.element.mlir}" for v in given)
        self.line(f"^bb0({inner}):")
        if not as_stored:
            given = [self.cast(v, v.element.computed) for v in given]
        made = body(*given)
        made = [made] if isinstance(made, Value) else made
        pairs = zip(made, outputs, strict=True)
        made = [self.cast(v, o.memref.element) for v, o in pairs]
        self.line(f"linalg.yield {_listed(made)}")
        self.line("}")

    def position(self, loop: int, element: Element) -> Value:
        """The index of a loop as a number, in the body of a structured operation."""
        return self.at_index(self.index_of(loop), element)

    def index_of(self, loop: int) -> str:
        """The index of a loop, in the body of a structured operation."""
        name = self.fresh()
        self.line(f"{name} = linalg.index {loop} : index")
        return name

    def in_triangle(self, side: str, row: int, column: int, k: int = 0) -> Value:
        """Whether the element of two loops is on a side of the k-th diagonal, or on it.

        ``side``: upper or lower.
        """
        at = (self.position(loop, I64) for loop in (column, row))
        relation = {"upper": "ge", "lower": "le"}[side]
        return self.compared(relation, self.binary("sub", *at), self.constant(k, I64))

    def extent(self, memref: Memref, axes: Sequence[int], element: Element) -> Value:
        """The product of extents as a number."""
        names = [self.dim(memref, axis) for axis in axes]
        product = names[0] if names else self.constant(1, INDEX).name
        for name in names[1:]:
            product = self.once(f"arith.muli {product}, {name} : index")
        count = self.once(f"arith.index_cast {product} : index to i64")
        if element.kind != "f":
            return self.cast(Value(count, I64), element)
        return Value(
            self.once(f"arith.sitofp {count} : i64 to {element.mlir}"), element
        )

    @contextmanager
    def loop(
        self, low: Bound, high: Bound, *, parallel: bool = False
    ) -> Generator[str]:
        """A loop without carried values; it may be marked parallel."""
        index = self.fresh()
        if parallel:
            self.line(f"affine.parallel ({index}) = ({low}) to ({high}) {{")
        else:
            self.line(f"affine.for {index} = {low} to {high} {{")
        yield index
        self.line("}")

    def carried(
        self,
        low: Bound,
        high: Bound,
        first: Sequence[Value],
        body: Callable[..., Sequence[Value]],
    ) -> list[Value]:
        """A loop with carried values: ``body`` maps the index and them to new ones."""
        index, names = self.fresh(), [self.fresh() for _ in first]
        result, types = self.fresh(), ", ".join(v.element.mlir for v in first)
        pairs = zip(names, first, strict=True)
        inner = ", ".join(f"{name} = {v.name}" for name, v in pairs)
        count = f":{len(first)}" if len(first) > 1 else ""
        head = f"{result}{count} = affine.for {index} = {low} to {high}"
        self.line(f"{head} iter_args({inner}) -> ({types}) {{")
        carried = [Value(name, v.element) for name, v in zip(names, first, strict=True)]
        made = [*body(index, *carried)]
        self.line(f"affine.yield {_listed(made)}")
        self.line("}")
        if len(first) == 1:
            return [Value(result, first[0].element)]
        return [Value(f"{result}#{n}", v.element) for n, v in enumerate(first)]

    def load(self, memref: Memref, *at: str) -> Value:
        """Load an element at affine indices, in the type of operations."""
        name = self.fresh()
        where = f"{memref.name}[{', '.join(at)}] : {memref.type}"
        self.line(f"{name} = affine.load {where}")
        return self.cast(Value(name, memref.element), memref.element.computed)

    def store(self, value: Value, memref: Memref, *at: str) -> None:
        """Store an element at affine indices, rounded to the buffer's type."""
        value = self.cast(value, memref.element)
        where = f"{memref.name}[{', '.join(at)}] : {memref.type}"
        self.line(f"affine.store {value.name}, {where}")

    def text(self) -> str:
        freed = [f"memref.dealloc {m.name} : {m.type}" for m in self.allocated]
        body = "\n".join(f"  {x}" for x in (*self.head, *self.lines, *freed, "return"))
        inner = ", ".join(self.arguments)
        return f"func.func @{self.name}({inner}) {{\n{body}\n}}\n"


_ITERATORS = {"p": "parallel", "r": "reduction"}


def _listed(values: Sequence[Value]) -> str:
    names = ", ".join(v.name for v in values)
    return f"{names} : {', '.join(v.element.mlir for v in values)}"
