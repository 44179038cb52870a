"""C loops as Polygeist raises them, and hand-written kernels that stage tiles by DMA.

Raised loops take open extents as i32 and arrays as ``memref<?x..>``; they have sums in
``iter_args`` or in buffers of one element, triangular bounds, and branches on variables
and on data. DMA kernels start transfers into fast memory, wait for them by tag, compute
on the tile and send it back, with one buffer or with two in turns.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from tests.made.arithmetic import arithmetic
from tests.made.program import Made, Maker, is_float, memref, numbers


class Raised(Maker):
    """Loops over a matrix of n by m and three lines; ``open`` ones by their extent."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.ty = self.random.choice(["f64", "f32", "i32"])
        self.matrix, self.line_type = (memref(self.ty, "?" * r) for r in (2, 1))
        self.open: list[tuple[str, str]] = []
        self.structured: set[str] = set()

    def number(self) -> str:
        zero = "0.0" if is_float(self.ty) else "0"
        return self.value(f"arith.constant {zero} : {self.ty}")

    def index_of(self, extent: str, *, affine: bool = False) -> str | None:
        """The variable of an open loop along an extent."""
        fits = [
            iv
            for iv, along in self.open
            if along == extent and not (affine and iv in self.structured)
        ]
        return self.random.choice(fits) if fits else None

    def place(self) -> tuple[str, str]:
        """An element that the open loops reach, and the dialect that may access it."""
        row, column = self.index_of("%n"), self.index_of("%m")
        if row and column and self.chance(0.6):
            dialect = self.dialect(row, column)
            if self.chance(0.2) and dialect == "affine":
                row = f"symbol(%n) - 1 - {row}"
            return f"%A[{row}, {column}] : {self.matrix}", dialect
        name, index = self.random.choice([("%x", row), ("%y", row), ("%z", column)])
        if index is None:
            name, index = ("%x", row) if row else ("%z", column)
        assert index is not None
        return f"{name}[{index}] : {self.line_type}", self.dialect(index)

    def dialect(self, *variables: str) -> str:
        """``memref`` where a variable is one of ``scf.for``."""
        return "affine" if self.structured.isdisjoint(variables) else "memref"

    def load(self) -> str:
        place, dialect = self.place()
        return self.value(f"{dialect}.load {place}")

    def store(self, value: str, target: tuple[str, str] | None = None) -> None:
        place, dialect = target or self.place()
        self.line(f"{dialect}.store {value}, {place}")

    def loop(self, body: Callable[[], None]) -> None:
        """Along an extent: whole, from an open variable on, or in steps of two."""
        iv, extent = self.name("i"), self.random.choice(["%n", "%m"])
        if self.chance(0.3):
            step, outer = self.random.choice(["%one", "%two"]), self.index_of(extent)
            first = outer if outer and self.chance(0.5) else "%zero"
            self.line(f"scf.for {iv} = {first} to {extent} step {step} {{")
            self.structured.add(iv)
        else:
            step = self.random.choice(["", "", " step 2"])
            outer = self.index_of(extent, affine=True)
            first = outer if outer and self.chance(0.4) else "0"
            self.line(f"affine.for {iv} = {first} to {extent}{step} {{")
        self.open.append((iv, extent))
        body()
        self.open.pop()
        self.line("}")

    def sum(self) -> None:
        """A reduction in ``iter_args``, stored behind its loop."""
        target = self.place()
        iv, extent = self.name("k"), self.random.choice(["%n", "%m"])
        total, carried, first = self.name(), self.name("acc"), self.number()
        self.line(
            f"{total} = affine.for {iv} = 0 to {extent} iter_args({carried} = {first})"
            f" -> ({self.ty}) {{"
        )
        self.open.append((iv, extent))
        term = self.load()
        if self.chance(0.5):
            term = arithmetic(self, term, self.load(), self.ty)
        self.open.pop()
        op = "addf" if is_float(self.ty) else "addi"
        new = self.value(f"arith.{op} {carried}, {term} : {self.ty}")
        self.line(f"affine.yield {new} : {self.ty}\n}}")
        self.store(total, target)

    def scalar(self) -> None:
        """A sum in a buffer of one element, as C's local variables are."""
        ty, first = memref(self.ty, ()), self.number()
        held = self.value(f"memref.alloca() : {ty}")
        self.line(f"affine.store {first}, {held}[] : {ty}")

        def update() -> None:
            old = self.value(f"affine.load {held}[] : {ty}")
            op = "addf" if is_float(self.ty) else "addi"
            new = self.value(f"arith.{op} {old}, {self.load()} : {self.ty}")
            self.line(f"affine.store {new}, {held}[] : {ty}")

        self.loop(update)
        total = self.value(f"affine.load {held}[] : {ty}")
        self.store(total)

    def assign(self) -> None:
        value = self.load()
        for _ in range(self.random.randint(0, 2)):
            value = arithmetic(self, value, self.load(), self.ty)
        self.store(value)

    def branch(self) -> None:
        """On variables and an extent, or on an element."""
        plain = [(iv, e) for iv, e in self.open if iv not in self.structured]
        if plain and self.chance(0.6):
            iv, extent = self.random.choice(plain)
            least = self.random.choice(["d - 1", "s - d - 2", "d * 2 - s"])
            head = f"affine.if affine_set<(d)[s] : ({least} >= 0)>({iv})[{extent}]"
        else:
            value, zero = self.load(), self.number()
            op, kind = ("cmpf", "ogt") if is_float(self.ty) else ("cmpi", "sgt")
            asked = self.value(f"arith.{op} {kind}, {value}, {zero} : {self.ty}")
            head = f"scf.if {asked}"
        self.line(f"{head} {{")
        self.statement()
        if self.chance(0.5):
            self.line("} else {")
            self.statement()
        self.line("}")

    def statement(self) -> None:
        kinds = [self.assign, self.assign, self.branch, self.sum, self.scalar]
        if len(self.open) < 3:
            kinds += [self.block] * 3
        self.random.choice(kinds)()

    def block(self) -> None:
        def body() -> None:
            for _ in range(self.random.randint(1, 2)):
                self.statement()

        self.loop(body)


def raised(seed: int) -> Made:
    """Up to three nests over the arrays."""
    m = Raised(seed)
    for _ in range(m.random.randint(1, 3)):
        m.block()
    heads = [f"%x: {m.line_type}", f"%y: {m.line_type}", f"%z: {m.line_type}"]
    body = "\n".join(m.lines)
    text = (
        f"func.func @f(%rows: i32, %columns: i32, %A: {m.matrix}, {', '.join(heads)})"
        " {\n%n = arith.index_cast %rows : i32 to index\n"
        "%m = arith.index_cast %columns : i32 to index\n"
        "%zero = arith.constant 0 : index\n%one = arith.constant 1 : index\n"
        f"%two = arith.constant 2 : index\n{body}\nreturn\n}}"
    )
    rows, columns = (m.random.choice([1, 2, 5, 8, 19]) for _ in range(2))
    shapes = [(rows, columns), (rows,), (rows,), (columns,)]
    arrays = [numbers(m.random, shape, m.ty) for shape in shapes]
    return Made("raised", seed, text, [rows, columns, *arrays])


class Staged(Maker):
    """A kernel over tiles of lines, or of rows of a matrix."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.ty = self.random.choice(["f32", "i32", "f64", "f16"])
        self.tiles = self.random.randint(1, 4)
        self.width = self.random.choice([4, 8, 16, 32])
        self.rows = self.random.choice([1, 1, 2, 4])
        self.sources = self.random.randint(1, 3)
        self.slots = self.random.choice([1, 2])

    @property
    def whole(self) -> str:
        return memref(self.ty, (self.rows, self.tiles * self.width))

    @property
    def fast(self) -> str:
        return memref(self.ty, (self.slots, self.rows, self.width), ", 2")

    def start(self, source: int, tile: str, slot: str) -> None:
        """One tile of a source to a slot; a strided transfer where there are rows."""
        count = ", %stride, %width" if self.rows > 1 else ""
        self.line(
            f"affine.dma_start %a{source}[0, {tile} * {self.width}],"
            f" %fast{source}[{slot}, 0, 0], %tag{source}[{slot}], %count{count}"
            f" : {self.whole}, {self.fast}, memref<{self.slots}xi32>"
        )

    def wait(self, source: int, slot: str) -> None:
        self.line(
            f"affine.dma_wait %tag{source}[{slot}], %count : memref<{self.slots}xi32>"
        )

    def element(self, source: int, slot: str, row: str, column: str) -> str:
        if self.chance(0.3):
            column = f"{self.width - 1} - {column}"
        return self.value(
            f"affine.load %fast{source}[{slot}, {row}, {column}] : {self.fast}"
        )


def staged(seed: int) -> Made:
    """Tiles in, a number for each element, tiles out by DMA or by stores."""
    m = Staged(seed)
    tags = f"memref<{m.slots}xi32>"
    count = m.rows * m.width
    for name, number in (
        ("count", count),
        ("stride", m.tiles * m.width),
        ("width", m.width),
    ):
        m.line(f"%{name} = arith.constant {number} : index")
    for source in range(m.sources):
        m.line(f"%fast{source} = memref.alloc() : {m.fast}")
        m.line(f"%tag{source} = memref.alloc() : {tags}")
    out, sends = memref(m.ty, (m.rows, m.width), ", 2"), m.chance(0.5)
    if sends:
        m.line(f"%out = memref.alloc() : {out}\n%sent = memref.alloc() : memref<1xi32>")
    slot = "0" if m.slots == 1 else "%b mod 2"
    if m.slots == 2:
        for source in range(m.sources):
            m.start(source, "0", "0")
    m.line(f"affine.for %b = 0 to {m.tiles} {{")
    if m.slots == 2:
        m.line(f"affine.if affine_set<(d) : ({m.tiles - 2} - d >= 0)>(%b) {{")
        for source in range(m.sources):
            m.start(source, "(%b + 1)", "(%b + 1) mod 2")
        m.line("}")
    order = list(range(m.sources))
    for source in order:
        if m.slots == 1:
            m.start(source, "%b", slot)
    m.random.shuffle(order)
    for source in order:
        m.wait(source, slot)
    m.line(f"affine.for %r = 0 to {m.rows} {{\naffine.for %c = 0 to {m.width} {{")
    value = m.element(0, slot, "%r", "%c")
    for source in range(1, m.sources):
        value = arithmetic(m, value, m.element(source, slot, "%r", "%c"), m.ty)
    if sends:
        m.line(f"affine.store {value}, %out[%r, %c] : {out}\n}}\n}}")
        strided = ", %stride, %width" if m.rows > 1 else ""
        m.line(
            f"affine.dma_start %out[0, 0], %d[0, %b * {m.width}], %sent[0],"
            f" %count{strided} : {out}, {m.whole}, memref<1xi32>\n"
            "affine.dma_wait %sent[0], %count : memref<1xi32>"
        )
    else:
        m.line(f"affine.store {value}, %d[%r, %b * {m.width} + %c] : {m.whole}\n}}\n}}")
    m.line("}")
    heads = ", ".join(f"%a{n}: {m.whole}" for n in range(m.sources))
    body = "\n".join(m.lines)
    text = f"func.func @f({heads}, %d: {m.whole}) {{\n{body}\nreturn\n}}"
    shape = m.rows, m.tiles * m.width
    arrays = [numbers(m.random, shape, m.ty) for _ in range(m.sources)]
    return Made("staged", seed, text, [*arrays, np.zeros_like(arrays[0])])
