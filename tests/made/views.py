"""Views of views of buffers, and loops that read and write through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from random import Random

from tests.made.arithmetic import arithmetic
from tests.made.program import TYPES, Made, Maker, memref, numbers

ROWS, COLUMNS = 6, 8


@dataclass(frozen=True)
class View:
    """A buffer's extents, strides and offset in elements; ``open`` in its type."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    open: bool = False


def rows_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a whole buffer."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


class Views(Maker):
    """Views by name."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.ty = self.random.choice(TYPES)
        self.views: dict[str, View] = {}

    def of(self, view: View) -> str:
        plain = (view.strides, view.offset) == (rows_of(view.shape), 0)
        if plain and not view.open:
            return memref(self.ty, view.shape)
        strides = ", ".join(map(str, view.strides))
        offset = "?" if view.open else str(view.offset)
        layout = f", strided<[{strides}], offset: {offset}>"
        return memref(self.ty, view.shape, layout)

    def drawn(self, rank: int | None = None) -> str:
        fits = [v for v, s in self.views.items() if rank in (None, len(s.shape))]
        return self.random.choice(fits[-3:] if fits else list(self.views)[-1:])

    def keep(self, view: View, text: str) -> str:
        made = self.value(text)
        self.views[made] = view
        return made

    # -- views -------------------------------------------------------------------------

    def subview(self) -> None:
        """A strided part; its offset may be known when it runs alone."""
        a = self.drawn()
        v = self.views[a]
        if not v.shape:
            return
        steps = [self.random.choice([1, 1, 2]) for _ in v.shape]
        sizes = [
            self.random.randint(1, (n - 1) // s + 1)
            for n, s in zip(v.shape, steps, strict=True)
        ]
        starts = [
            self.random.randint(0, n - 1 - (k - 1) * s)
            for n, k, s in zip(v.shape, sizes, steps, strict=True)
        ]
        offset = v.offset + sum(i * s for i, s in zip(starts, v.strides, strict=True))
        strides = tuple(s * t for s, t in zip(v.strides, steps, strict=True))
        is_open = self.chance(0.4)
        places = [self.index(i) if is_open else str(i) for i in starts]
        dropped = len(sizes) > 1 and 1 in sizes and self.chance(0.5)
        gone = sizes.index(1) if dropped else -1
        whole = View(
            tuple(k for d, k in enumerate(sizes) if d != gone),
            tuple(s for d, s in enumerate(strides) if d != gone),
            offset,
            is_open or v.open,
        )
        self.keep(
            whole,
            f"memref.subview {a}[{', '.join(places)}] {sizes} {steps}"
            f" : {self.of(v)} to {self.of(whole)}",
        )

    def transpose(self) -> None:
        a = self.drawn(2)
        v = self.views[a]
        if len(v.shape) != 2:
            return
        turned = View(v.shape[::-1], v.strides[::-1], v.offset, v.open)
        self.keep(
            turned,
            f"memref.transpose {a} (i, j) -> (j, i)"
            f" : {self.of(v)} to {self.of(turned)}",
        )

    def collapse(self) -> None:
        """Two dimensions that lie together in one."""
        a = self.drawn(2)
        v = self.views[a]
        if len(v.shape) != 2 or v.strides[0] != v.shape[1] * v.strides[1]:
            return
        flat = View((prod(v.shape),), v.strides[1:], v.offset, v.open)
        self.keep(
            flat,
            f"memref.collapse_shape {a} [[0, 1]] : {self.of(v)} into {self.of(flat)}",
        )

    def expand(self) -> None:
        a = self.drawn(1)
        v = self.views[a]
        if len(v.shape) != 1:
            return
        n = v.shape[0]
        inner = self.random.choice([k for k in (1, 2, 3, 4) if n % k == 0])
        shape = (n // inner, inner)
        made = View(shape, (inner * v.strides[0], v.strides[0]), v.offset, v.open)
        self.keep(
            made,
            f"memref.expand_shape {a} [[0, 1]] output_shape {list(shape)}"
            f" : {self.of(v)} into {self.of(made)}",
        )

    def cast(self) -> None:
        """The same view, less known; or known again."""
        a = self.drawn()
        v = self.views[a]
        other = View(v.shape, v.strides, v.offset, not v.open)
        self.keep(other, f"memref.cast {a} : {self.of(v)} to {self.of(other)}")

    def reinterpret(self) -> None:
        """Another part of the same memory: its offset counts from the base buffer."""
        a = self.drawn()
        v = self.views[a]
        n = self.random.randint(1, 6)
        stride = self.random.choice([1, 2, 5])
        start = self.random.randint(0, ROWS * COLUMNS - 1 - (n - 1) * stride)
        made = View((n,), (stride,), start)
        self.keep(
            made,
            f"memref.reinterpret_cast {a} to offset: [{start}], sizes: [{n}],"
            f" strides: [{stride}] : {self.of(v)} to {self.of(made)}",
        )

    # -- uses --------------------------------------------------------------------------

    def nest(self) -> None:
        """A loop nest over one view, reading another at the same or turned places."""
        a = self.drawn()
        v = self.views[a]
        fits = [
            name
            for name, s in self.views.items()
            if len(s.shape) == len(v.shape)
            and all(n >= m for n, m in zip(s.shape, v.shape, strict=True))
        ]
        b = self.random.choice(fits)
        ivs = [self.name("i") for _ in v.shape]
        kind = "affine" if self.chance(0.6) else "scf"
        bounds = [(self.index(0), self.index(n), self.index(1)) for n in v.shape]
        for i, n, (low, high, one) in zip(ivs, v.shape, bounds, strict=True):
            self.line(
                f"affine.for {i} = 0 to {n} {{"
                if kind == "affine"
                else f"scf.for {i} = {low} to {high} step {one} {{"
            )
        at = list(ivs)
        if kind == "affine" and self.chance(0.4):
            at = [f"{n - 1} - {i}" for n, i in zip(v.shape, ivs, strict=True)]
        op = "affine" if kind == "affine" else "memref"
        where = ", ".join(ivs)
        x = self.value(f"{op}.load {b}[{', '.join(at)}] : {self.of(self.views[b])}")
        y = self.value(f"{op}.load {a}[{where}] : {self.of(v)}")
        z = arithmetic(self, x, y, self.ty)
        self.line(f"{op}.store {z}, {a}[{where}] : {self.of(v)}")
        self.line("}\n" * len(ivs))

    def copied(self) -> None:
        """To a fresh buffer, updated there, and back."""
        a = self.drawn()
        v = self.views[a]
        fresh = View(v.shape, rows_of(v.shape), 0)
        b = self.value(f"memref.alloc() : {self.of(fresh)}")
        self.line(f"memref.copy {a}, {b} : {self.of(v)} to {self.of(fresh)}")
        ty = self.of(fresh)
        kind = "f" if self.ty[0] in "bf" else "i"
        self.line(
            f"linalg.map {{arith.add{kind}}} ins({b}, {a} : {ty}, {self.of(v)})"
            f" outs({b} : {ty})"
        )
        self.line(f"memref.copy {b}, {a} : {ty} to {self.of(v)}")

    def step(self) -> None:
        views: list[Callable[[], None]] = [self.subview, self.subview, self.transpose]
        views += [self.collapse, self.expand, self.cast, self.reinterpret]
        uses = [self.nest, self.nest, self.nest, self.copied]
        for _ in range(self.random.randint(1, 3)):
            self.random.choice(views)()
        self.random.choice(uses)()


def made(seed: int) -> Made:
    """Views of one matrix, each used in turn."""
    m = Views(seed)
    whole = View((ROWS, COLUMNS), (COLUMNS, 1), 0)
    m.views["%A"] = whole
    for _ in range(m.random.randint(1, 3)):
        m.step()
    body = "\n".join(m.lines)
    text = f"func.func @f(%A: {m.of(whole)}) {{\n{body}\nreturn\n}}"
    return Made("views", seed, text, [numbers(m.random, [ROWS, COLUMNS], m.ty)])
