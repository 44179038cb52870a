"""Chains of linalg operations on tensors, and what lies between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from tests.made.arithmetic import arithmetic
from tests.made.program import (
    INTEGERS,
    TYPES,
    Made,
    Maker,
    is_float,
    literal,
    numbers,
    tensor,
)

Shape = tuple[int, ...]
EXTENTS = (1, 2, 3, 4, 5, 8)


class Chain(Maker):
    """Tensors of one type by name; every step makes one more."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.ty = self.random.choice(TYPES)
        self.tensors: dict[str, Shape] = {}

    # -- what there is -----------------------------------------------------------------

    def of(self, shape: Shape) -> str:
        return tensor(self.ty, shape)

    def drawn(self, rank: int | None = None) -> str:
        """A tensor, rather a late one; of a rank, a new one if there is none."""
        fits = [t for t, s in self.tensors.items() if rank in (None, len(s))]
        if not fits:
            return self.fresh(tuple(self.extent() for _ in range(rank or 2)))
        return self.random.choice(fits[-3:] if self.chance(0.6) else fits)

    def extent(self) -> int:
        return self.random.choice(EXTENTS)

    def shaped(self, shape: Shape) -> str:
        """A tensor of this shape."""
        fits = [t for t, s in self.tensors.items() if s == shape]
        return self.random.choice(fits) if fits else self.fresh(shape)

    def fresh(self, shape: Shape) -> str:
        """Filled with a constant."""
        number = self.value(f"arith.constant {literal(self.random, self.ty)}")
        empty = self.value(f"tensor.empty() : {self.of(shape)}")
        return self.keep(
            shape,
            f"linalg.fill ins({number} : {self.ty}) outs({empty} : {self.of(shape)})"
            f" -> {self.of(shape)}",
        )

    def keep(self, shape: Shape, text: str) -> str:
        made = self.value(text)
        self.tensors[made] = shape
        return made

    def structured(
        self, op: str, inputs: list[str], output: str, more: str = ""
    ) -> None:
        given = ", ".join(inputs)
        types = ", ".join(self.of(self.tensors[i]) for i in inputs)
        shape = self.tensors[output]
        out = self.of(shape)
        self.keep(
            shape,
            f"linalg.{op} {more} ins({given} : {types})"
            f" outs({output} : {out}) -> {out}",
        )

    # -- steps -------------------------------------------------------------------------

    def generic(self) -> None:
        """Two inputs, one of them perhaps spread or turned, and the place itself."""
        a = self.drawn()
        shape = self.tensors[a]
        dims = [f"d{i}" for i in range(len(shape))]
        spread = [d for d in dims if self.chance(0.7)]
        b = self.shaped(tuple(shape[dims.index(d)] for d in spread))
        turned = [
            f"{shape[i] - 1} - {d}" if self.chance(0.2) else d
            for i, d in enumerate(dims)
        ]
        rows = [", ".join(turned), ", ".join(spread), ", ".join(dims)]
        maps = [f"affine_map<({', '.join(dims)}) -> ({row})>" for row in rows]
        out = self.shaped(shape)
        body = Maker(self.random, names=self.names)
        x, y, z = (body.name("e") for _ in range(3))
        made = arithmetic(body, x, y, self.ty)
        if shape and not is_float(self.ty) and self.chance(0.4):
            dim = self.random.randrange(len(shape))
            place = body.value(f"linalg.index {dim} : index")
            number = body.value(f"arith.index_cast {place} : index to {self.ty}")
            made = arithmetic(body, made, number, self.ty)
        if self.chance(0.5):
            made = arithmetic(body, made, z, self.ty)
        self.names = body.names
        kinds = ", ".join(['"parallel"'] * len(dims))
        types = [self.of(self.tensors[t]) for t in (a, b, out)]
        arguments = ", ".join(f"{e}: {self.ty}" for e in (x, y, z))
        lines = "\n".join(body.lines)
        self.keep(
            shape,
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}],"
            f" iterator_types = [{kinds}]}}"
            f" ins({a}, {b} : {types[0]}, {types[1]}) outs({out} : {types[2]}) {{\n"
            f"^bb0({arguments}):\n{lines}\nlinalg.yield {made} : {self.ty}\n}}"
            f" -> {types[2]}",
        )

    def product(self) -> None:
        a = self.drawn(2)
        m, k = self.tensors[a]
        if self.chance(0.3):
            b, out = self.shaped((k,)), self.shaped((m,))
            self.structured("matvec", [a, b], out)
            return
        n = self.extent()
        b, out = self.shaped((k, n)), self.shaped((m, n))
        self.structured("matmul", [a, b], out)

    def batch(self) -> None:
        a = self.drawn(3)
        s, m, k = self.tensors[a]
        n = self.extent()
        b, out = self.shaped((s, k, n)), self.shaped((s, m, n))
        self.structured("batch_matmul", [a, b], out)

    def reduction(self) -> None:
        a = self.drawn()
        shape = self.tensors[a]
        if not shape:
            return
        gone = [d for d in range(len(shape)) if self.chance(0.5)] or [0]
        kept = tuple(n for d, n in enumerate(shape) if d not in gone)
        out = self.shaped(kept)
        ops = ("addf", "maximumf", "minimumf") if is_float(self.ty) else ()
        op = self.random.choice(ops or ("addi", "maxsi", "minui", "xori", "muli"))
        self.keep(
            kept,
            f"linalg.reduce {{arith.{op}}} ins({a} : {self.of(shape)})"
            f" outs({out} : {self.of(kept)}) dimensions = [{_list(gone)}]",
        )

    def broadcast(self) -> None:
        a = self.drawn()
        shape = self.tensors[a]
        if len(shape) > 2:
            return
        at = self.random.randint(0, len(shape))
        whole = (*shape[:at], self.extent(), *shape[at:])
        empty = self.value(f"tensor.empty() : {self.of(whole)}")
        self.keep(
            whole,
            f"linalg.broadcast ins({a} : {self.of(shape)})"
            f" outs({empty} : {self.of(whole)}) dimensions = [{at}]",
        )

    def transpose(self) -> None:
        a = self.drawn()
        shape = self.tensors[a]
        order = list(range(len(shape)))
        self.random.shuffle(order)
        turned = tuple(shape[o] for o in order)
        empty = self.value(f"tensor.empty() : {self.of(turned)}")
        self.keep(
            turned,
            f"linalg.transpose ins({a} : {self.of(shape)})"
            f" outs({empty} : {self.of(turned)}) permutation = [{_list(order)}]",
        )

    def window(self) -> None:
        """A convolution or a pooling without channels, over a padded tensor."""
        a = self.padded(self.drawn(self.random.choice([1, 2])))
        shape = self.tensors[a]
        kernel = tuple(self.random.randint(1, n) for n in shape)
        out = tuple(n - k + 1 for n, k in zip(shape, kernel, strict=True))
        name = f"conv_{len(shape)}d"
        self.structured(name, [a, self.shaped(kernel)], self.shaped(out))

    def pooling(self) -> None:
        a = self.drawn(3)
        n, w, c = self.tensors[a]
        k = self.random.randint(1, w)
        stride = self.random.choice([1, 2])
        kinds = ["sum", "max", "min"] + ([] if is_float(self.ty) else ["max_unsigned"])
        size = self.value(f"tensor.empty() : {self.of((k,))}")
        self.tensors[size] = (k,)
        out = self.shaped((n, (w - k) // stride + 1, c))
        more = f"{{strides = dense<{stride}> : vector<1xi64>}}"
        op = f"pooling_nwc_{self.random.choice(kinds)}"
        self.structured(op, [a, size], out, more)
        del self.tensors[size]

    def padded(self, a: str) -> str:
        shape = self.tensors[a]
        low = [self.random.randint(0, 2) for _ in shape]
        high = [self.random.randint(0, 2) for _ in shape]
        whole = tuple(map(sum, zip(shape, low, high, strict=True)))
        number = self.value(f"arith.constant {literal(self.random, self.ty)}")
        places = ", ".join(f"{self.name('p')}: index" for _ in shape)
        return self.keep(
            whole,
            f"tensor.pad {a} low[{_list(low)}] high[{_list(high)}] {{\n"
            f"^bb0({places}):\ntensor.yield {number} : {self.ty}\n}}"
            f" : {self.of(shape)} to {self.of(whole)}",
        )

    def border(self) -> None:
        a = self.drawn()
        if self.tensors[a]:
            self.padded(a)

    def part(self) -> None:
        """A slice, updated, put back or into another tensor."""
        a = self.drawn()
        shape = self.tensors[a]
        if not shape:
            return
        steps = [self.random.choice([1, 1, 2]) for _ in shape]
        sizes = tuple(
            self.random.randint(1, (n - 1) // s + 1)
            for n, s in zip(shape, steps, strict=True)
        )
        room = [
            n - 1 - (k - 1) * s for n, k, s in zip(shape, sizes, steps, strict=True)
        ]
        starts = [self.random.randint(0, r) for r in room]
        where = f"[{_list(starts)}] [{_list(sizes)}] [{_list(steps)}]"
        piece = self.keep(
            sizes,
            f"tensor.extract_slice {a}{where} : {self.of(shape)} to {self.of(sizes)}",
        )
        if self.chance(0.7):
            new = arithmetic(self, piece, self.shaped(sizes), self.ty, self.of(sizes))
            self.tensors[new] = sizes
            target = self.shaped(shape)
            self.keep(
                shape,
                f"tensor.insert_slice {new} into {target}{where}"
                f" : {self.of(sizes)} into {self.of(shape)}",
            )

    def reshape(self) -> None:
        """Dimensions in one, and apart again."""
        a = self.drawn()
        shape = self.tensors[a]
        if len(shape) < 2:
            return
        line = (shape[0] * shape[1], *shape[2:])
        groups = [[0, 1], *([d] for d in range(2, len(shape)))]
        flat = self.keep(
            line,
            f"tensor.collapse_shape {a} {groups} : {self.of(shape)} into"
            f" {self.of(line)}",
        )
        square = (shape[1], shape[0], *shape[2:])
        self.keep(
            square,
            f"tensor.expand_shape {flat} {groups} output_shape [{_list(square)}]"
            f" : {self.of(line)} into {self.of(square)}",
        )

    def concat(self) -> None:
        a = self.drawn()
        shape = self.tensors[a]
        if not shape:
            return
        dim = self.random.randrange(len(shape))
        b = self.shaped(shape)
        whole = tuple(2 * n if d == dim else n for d, n in enumerate(shape))
        self.keep(
            whole,
            f"tensor.concat dim({dim}) {a}, {b}"
            f" : ({self.of(shape)}, {self.of(shape)}) -> {self.of(whole)}",
        )

    def elementwise(self) -> None:
        a = self.drawn()
        shape = self.tensors[a]
        if not shape:
            return
        made = arithmetic(self, a, self.shaped(shape), self.ty, self.of(shape))
        self.tensors[made] = shape

    def mapped(self) -> None:
        a = self.drawn()
        shape = self.tensors[a]
        out = self.shaped(shape)
        op = "subf" if is_float(self.ty) else "subi"
        ty = self.of(shape)
        self.keep(
            shape,
            f"linalg.map {{arith.{op}}} ins({a}, {out} : {ty}, {ty})"
            f" outs({out} : {ty})",
        )

    def steps(self) -> list[Callable[[], None]]:
        return [
            self.generic,
            self.generic,
            self.product,
            self.product,
            self.batch,
            self.reduction,
            self.broadcast,
            self.transpose,
            self.window,
            self.pooling,
            self.border,
            self.part,
            self.part,
            self.reshape,
            self.concat,
            self.elementwise,
            self.mapped,
        ]


def _list(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def made(seed: int) -> Made:
    """Up to six steps from two arguments; the last tensors are returned."""
    m = Chain(seed)
    shapes = [
        tuple(m.extent() for _ in range(rank))
        for rank in (2, m.random.choice([1, 2, 3]))
    ]
    dynamic = m.chance(0.3)
    heads: list[str] = []
    for shape in shapes:
        name = m.name("a")
        whole = tensor(m.ty, "?" * len(shape)) if dynamic else m.of(shape)
        heads.append(f"{name}: {whole}")
        if dynamic:
            m.keep(shape, f"tensor.cast {name} : {whole} to {m.of(shape)}")
        else:
            m.tensors[name] = shape
    for _ in range(m.random.randint(1, 6)):
        m.random.choice(m.steps())()
    returned = list(m.tensors)[-2:]
    types = ", ".join(m.of(m.tensors[name]) for name in returned)
    body = "\n".join(m.lines)
    text = (
        f"func.func @f({', '.join(heads)}) -> ({types}) {{\n{body}\n"
        f"return {', '.join(returned)} : {types}\n}}"
    )
    arguments = [numbers(m.random, shape, m.ty) for shape in shapes]
    return Made("chains", seed, text, arguments, peers=m.ty in (*INTEGERS, "f32"))
