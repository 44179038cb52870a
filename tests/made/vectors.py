"""Vectors: transfers with masks and padding, and what is done in registers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.made.arithmetic import arithmetic
from tests.made.program import (
    TYPES,
    Made,
    Maker,
    is_float,
    literal,
    memref,
    numbers,
    vector,
)

ROWS, COLUMNS = 6, 10
SHAPES = ((4,), (8,), (2, 4), (3, 5), (1, 8))


class Lanes(Maker):
    """Vectors of one type by name, and a matrix in memory."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.ty = self.random.choice(TYPES)
        self.buffer = memref(self.ty, [ROWS, COLUMNS])
        self.vectors: dict[str, tuple[int, ...]] = {}
        self.indices: list[str] = []

    def of(self, shape: tuple[int, ...]) -> str:
        return vector(self.ty, shape) if shape else self.ty

    def keep(self, shape: tuple[int, ...], text: str) -> str:
        made = self.value(text)
        self.vectors[made] = shape
        return made

    def drawn(self, rank: int | None = None) -> str:
        fits = [v for v, s in self.vectors.items() if rank in (None, len(s))]
        if not fits:
            shapes = [s for s in SHAPES if rank in (None, len(s))]
            return self.read(self.random.choice(shapes))
        return self.random.choice(fits[-3:])

    def shaped(self, shape: tuple[int, ...]) -> str:
        fits = [v for v, s in self.vectors.items() if s == shape]
        return self.random.choice(fits) if fits else self.read(shape)

    def scalar(self) -> str:
        return self.value(f"arith.constant {literal(self.random, self.ty)}")

    # -- memory ------------------------------------------------------------------------

    def place(self, beyond: str = "") -> str:
        """Two indices; those of the dimensions named may lie past the end."""
        row = self.random.randint(0, ROWS + 1 if "r" in beyond else 0)
        column = self.random.randint(0, COLUMNS + 2 if "c" in beyond else 2)
        found = [self.index(row), self.index(column)]
        if self.indices and self.chance(0.6):
            found[self.random.randint(0, 1)] = self.random.choice(self.indices)
        return ", ".join(found)

    def mask(self, shape: tuple[int, ...]) -> str:
        kind = vector("i1", shape)
        bounds = [self.random.randint(0, n) for n in shape]
        if self.chance(0.5):
            text = ", ".join(map(str, bounds if all(bounds) else [0] * len(bounds)))
            return self.value(f"vector.constant_mask [{text}] : {kind}")
        names = [
            self.random.choice(self.indices)
            if self.indices and self.chance(0.5)
            else self.index(b + self.random.randint(0, 2))
            for b in bounds
        ]
        return self.value(f"vector.create_mask {', '.join(names)} : {kind}")

    def access(self, shape: tuple[int, ...]) -> tuple[str, str]:
        """The dimensions that a transfer goes along, and its attributes."""
        kept = self.random.choice(["c", "r"] if len(shape) == 1 else ["rc", "cr"])
        map_ = f"(r, c) -> ({', '.join(kept)})"
        return kept, f"permutation_map = affine_map<{map_}>"

    def read(self, shape: tuple[int, ...]) -> str:
        kept, attributes = self.access(shape)
        if self.chance(0.15) and len(shape) == 2:
            kept, attributes = "c", "permutation_map = affine_map<(r, c) -> (0, c)>"
            attributes += ", in_bounds = [true, false]"
        place, pad = self.place(kept), self.scalar()
        mask = f", {self.mask(shape)}" if self.is_plain(kept, shape) else ""
        text = f"vector.transfer_read %A[{place}], {pad}{mask}"
        made = f"{text} {{{attributes}}} : {self.buffer}, {self.of(shape)}"
        return self.keep(shape, made)

    def is_plain(self, kept: str, shape: tuple[int, ...]) -> bool:
        """Whether a mask goes with the transfer: sometimes, if nothing is turned."""
        return kept == "rc"[-len(shape) :] and self.chance(0.5)

    def write(self) -> None:
        v = self.drawn()
        shape = self.vectors[v]
        if not 1 <= len(shape) <= 2:
            return
        kept, attributes = self.access(shape)
        place = self.place(kept)
        mask = f", {self.mask(shape)}" if self.is_plain(kept, shape) else ""
        self.line(
            f"vector.transfer_write {v}, %A[{place}]{mask} {{{attributes}}}"
            f" : {self.of(shape)}, {self.buffer}"
        )

    def masked_memory(self) -> None:
        """``maskedload``, ``expandload`` and their stores stay inside."""
        n = self.random.choice([4, 8])
        n = 4 if self.indices else n  # the column may be that of a loop, up to 3
        place, mask, shape = self.place(), self.mask((n,)), (n,)
        other = self.shaped(shape)
        types = f"{self.buffer}, {vector('i1', shape)}, {self.of(shape)}"
        if self.chance(0.5):
            op = self.random.choice(["maskedload", "expandload"])
            into = f"{types} into {self.of(shape)}"
            self.keep(shape, f"vector.{op} %A[{place}], {mask}, {other} : {into}")
        else:
            op = self.random.choice(["maskedstore", "compressstore"])
            self.line(f"vector.{op} %A[{place}], {mask}, {other} : {types}")

    def gather(self) -> None:
        n = self.random.choice([4, 8])
        shape = (n,)
        spots = [self.random.randint(0, COLUMNS - 1) for _ in range(n)]
        where = self.value(f"arith.constant dense<{spots}> : {vector('i32', shape)}")
        row, zero = self.index(self.random.randrange(ROWS)), self.index(0)
        mask, other = self.mask(shape), self.shaped(shape)
        kinds = f"{vector('i32', shape)}, {vector('i1', shape)}, {self.of(shape)}"
        if self.chance(0.6):
            self.keep(
                shape,
                f"vector.gather %A[{row}, {zero}] [{where}], {mask}, {other}"
                f" : {self.buffer}, {kinds} into {self.of(shape)}",
            )
        else:
            self.line(
                f"vector.scatter %A[{row}, {zero}] [{where}], {mask}, {other}"
                f" : {self.buffer}, {kinds}"
            )

    # -- registers ---------------------------------------------------------------------

    def compute(self) -> None:
        v = self.drawn()
        shape = self.vectors[v]
        made = arithmetic(self, v, self.shaped(shape), self.ty, self.of(shape))
        self.vectors[made] = shape

    def broadcast(self) -> None:
        shape = self.random.choice(SHAPES)
        source, kind = self.scalar(), self.ty
        if len(shape) == 2 and self.chance(0.5):
            source, kind = self.shaped(shape[1:]), self.of(shape[1:])
        self.keep(shape, f"vector.broadcast {source} : {kind} to {self.of(shape)}")

    def transpose(self) -> None:
        v = self.drawn(2)
        shape = self.vectors[v]
        turned = shape[::-1]
        types = f"{self.of(shape)} to {self.of(turned)}"
        self.keep(turned, f"vector.transpose {v}, [1, 0] : {types}")

    def reshape(self) -> None:
        v = self.drawn(2)
        shape = self.vectors[v]
        line = (shape[0] * shape[1],)
        types = f"{self.of(shape)} to {self.of(line)}"
        self.keep(line, f"vector.shape_cast {v} : {types}")

    def shuffle(self) -> None:
        v = self.drawn(1)
        (n,) = self.vectors[v]
        w = self.shaped((n,))
        count = self.random.choice([2, 4, 8])
        picks = [self.random.randrange(2 * n) for _ in range(count)]
        ty = self.of((n,))
        self.keep((count,), f"vector.shuffle {v}, {w} {picks} : {ty}, {ty}")

    def part(self) -> None:
        """A strided slice, and a place to put it."""
        v = self.drawn()
        shape = self.vectors[v]
        if not shape:
            return
        sizes = tuple(self.random.randint(1, n) for n in shape)
        starts = [
            self.random.randint(0, n - k) for n, k in zip(shape, sizes, strict=True)
        ]
        ones = [1] * len(shape)
        piece = self.keep(
            sizes,
            f"vector.extract_strided_slice {v} {{offsets = {starts},"
            f" sizes = {list(sizes)}, strides = {ones}}}"
            f" : {self.of(shape)} to {self.of(sizes)}",
        )
        target = self.shaped(shape)
        self.keep(
            shape,
            f"vector.insert_strided_slice {piece}, {target} {{offsets = {starts},"
            f" strides = {ones}}} : {self.of(sizes)} into {self.of(shape)}",
        )

    def row(self) -> None:
        """One row taken out, or put in."""
        v = self.drawn(2)
        shape = self.vectors[v]
        at = self.random.randrange(shape[0])
        rest = shape[1:]
        types = f"{self.of(rest)} from {self.of(shape)}"
        found = self.keep(rest, f"vector.extract {v}[{at}] : {types}")
        other = self.random.randrange(shape[0])
        types = f"{self.of(rest)} into {self.of(shape)}"
        self.keep(shape, f"vector.insert {found}, {v} [{other}] : {types}")

    def kinds(self) -> str:
        known = ["add", "minimumf", "maximumf", "minnumf", "maxnumf"]
        if not is_float(self.ty):
            known = [
                "add",
                "mul",
                "and",
                "or",
                "xor",
                "minsi",
                "maxsi",
                "minui",
                "maxui",
            ]
        return self.random.choice(known)

    def reduction(self) -> None:
        """All lanes, or those of some dimensions, perhaps under a mask."""
        v = self.drawn()
        shape = self.vectors[v]
        if len(shape) == 2:
            dim = self.random.randint(0, 1)
            kept = (shape[1 - dim],)
            start = self.shaped(kept)
            types = f"{self.of(shape)} to {self.of(kept)}"
            kind = self.kinds()
            text = f"vector.multi_reduction <{kind}>, {v}, {start} [{dim}] : {types}"
            if self.chance(0.4):
                mask = self.mask(shape)
                types = f"{vector('i1', shape)} -> {self.of(kept)}"
                text = f"vector.mask {mask} {{ {text} }} : {types}"
            self.keep(kept, text)
            return
        text = (
            f"vector.reduction <{self.kinds()}>, {v} : {self.of(shape)} into {self.ty}"
        )
        if self.chance(0.4):
            types = f"{vector('i1', shape)} -> {self.ty}"
            text = f"vector.mask {self.mask(shape)} {{ {text} }} : {types}"
        made = self.value(text)
        self.keep((4,), f"vector.broadcast {made} : {self.ty} to {self.of((4,))}")

    def product(self) -> None:
        """A contraction or an outer product."""
        a, b = self.drawn(1), self.drawn(1)
        (m,), (n,) = self.vectors[a], self.vectors[b]
        out = self.shaped((m, n)) if (m, n) in SHAPES else ""
        types = f"{self.of((m,))}, {self.of((n,))}"
        if self.chance(0.5):
            more = f", {out}" if out else ""
            self.keep((m, n), f"vector.outerproduct {a}, {b}{more} : {types}")
            return
        c = self.drawn(2)
        rows, k = self.vectors[c]
        column, start = self.shaped((k,)), self.shaped((rows,))
        maps = ["(i, k) -> (i, k)", "(i, k) -> (k)", "(i, k) -> (i)"]
        text = ", ".join(f"affine_map<{row}>" for row in maps)
        self.keep(
            (rows,),
            f"vector.contract {{indexing_maps = [{text}], iterator_types ="
            f' ["parallel", "reduction"], kind = #vector.kind<add>}} {c}, {column},'
            f" {start} : {self.of((rows, k))}, {self.of((k,))} into {self.of((rows,))}",
        )

    def scan(self) -> None:
        v = self.drawn(2)
        shape = self.vectors[v]
        start = self.shaped(shape[1:])
        first, last = self.name(), self.name()
        inclusive = self.random.choice(["true", "false"])
        self.line(
            f"{first}, {last} = vector.scan <{self.kinds()}>, {v}, {start}"
            f" {{inclusive = {inclusive}, reduction_dim = 0 : i64}}"
            f" : {self.of(shape)}, {self.of(shape[1:])}"
        )
        self.vectors |= {first: shape, last: shape[1:]}

    def masked(self) -> None:
        """A choice lane by lane."""
        v = self.drawn()
        shape = self.vectors[v]
        mask, other = self.mask(shape), self.shaped(shape)
        types = f"{vector('i1', shape)}, {self.of(shape)}"
        self.keep(shape, f"arith.select {mask}, {v}, {other} : {types}")

    def step(self) -> None:
        makers: list[Callable[[], object]] = [
            lambda: self.read(self.random.choice(SHAPES)),
            lambda: self.read(self.random.choice(SHAPES)),
            self.write,
            self.write,
            self.masked_memory,
            self.gather,
            self.compute,
            self.compute,
            self.broadcast,
            self.transpose,
            self.reshape,
            self.shuffle,
            self.part,
            self.row,
            self.reduction,
            self.reduction,
            self.product,
            self.scan,
            self.masked,
        ]
        self.random.choice(makers)()


def made(seed: int) -> Made:
    """A few steps, then the same in a loop; the last vectors are written."""
    m = Lanes(seed)
    for _ in range(m.random.randint(1, 3)):
        m.step()
    if m.chance(0.6):
        i, last = m.name("i"), m.random.randint(0, 4)
        if m.chance(0.5):
            m.line(f"affine.for {i} = 0 to {last} {{")
        else:
            low, high, one = (m.index(n) for n in (0, last, 1))
            m.line(f"scf.for {i} = {low} to {high} step {one} {{")
        outer = dict(m.vectors)
        m.indices.append(i)
        for _ in range(m.random.randint(1, 3)):
            m.step()
        m.write()
        m.line("}")
        m.vectors = outer
        m.indices.clear()
    m.write()
    body = "\n".join(m.lines)
    text = f"func.func @f(%A: {m.buffer}) {{\n{body}\nreturn\n}}"
    return Made("vectors", seed, text, [numbers(m.random, [ROWS, COLUMNS], m.ty)])
