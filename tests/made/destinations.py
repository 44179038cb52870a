"""Destination-passing linalg as other compilers print it, on tensors and on buffers.

On tensors, every operation takes the tensor that it writes: fresh, filled, or one that
has other readers. Products stand in the middle of chains, factors are of f16, i8 or the
type of the sums, and results go on in several consumers. On buffers, a product into a
local buffer is followed by nests whose statements load and store the arrays of a cell
in any order: the first store of a result may come before or behind the product's.
"""

from __future__ import annotations

from random import Random

from tests.made.program import Made, Maker, is_float, memref, numbers, tensor

Shape = tuple[int, ...]
EXTENTS = (1, 2, 3, 5, 8)
LONG = (4, 9, 16, 17, 33)
"""Extents of one dimension of a program: the interpreter is slow."""
KINDS = {"f32": ("f32", "f32", "f16"), "f64": ("f64", "f32"), "i32": ("i32", "i8")}
"""Types of sums, and of factors that they may have."""
OPERATIONS = {
    True: "addf subf mulf maximumf minimumf".split(),
    False: "addi subi muli maxsi minsi xori".split(),
}


class Destinations(Maker):
    """Values with their shapes and types; every step makes more."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.sums = self.random.choice([*KINDS])
        self.values: dict[str, tuple[Shape, str]] = {}
        self.extents = [self.random.choice(EXTENTS) for _ in range(2)]
        self.extents.insert(self.random.randint(0, 2), self.random.choice(LONG))

    def combined(self, a: str, b: str, ty: str) -> str:
        """One operation on two scalars; a product is rare, so numbers stay small."""
        op = self.random.choice(OPERATIONS[is_float(ty)])
        return self.value(f"arith.{op} {a}, {b} : {ty}")

    def number(self, ty: str) -> str:
        text = self.random.choice(["0", "1", "-2", "7"])
        return self.value(f"arith.constant {text}{'.0' if is_float(ty) else ''} : {ty}")

    def cast(self, a: str, old: str, new: str) -> str:
        """A scalar in another type."""
        if old == new:
            return a
        if is_float(old) != is_float(new):
            op = "fptosi" if is_float(old) else "sitofp"
        else:
            wider = int(old[1:]) < int(new[1:])
            pair = ("extf", "truncf") if is_float(old) else ("extsi", "trunci")
            op = pair[not wider]
        return self.value(f"arith.{op} {a} : {old} to {new}")

    # -- on tensors --------------------------------------------------------------------

    def keep(self, shape: Shape, ty: str, text: str) -> str:
        made = self.value(text)
        self.values[made] = shape, ty
        return made

    def drawn(self, rank: int = 2, ty: str = "") -> str:
        fits = [
            v
            for v, (s, t) in self.values.items()
            if len(s) == rank and (not ty or t == ty)
        ]
        if not fits:
            shape = tuple(self.random.choice(self.extents) for _ in range(rank))
            return self.filled(shape, ty or self.sums)
        return self.random.choice(fits[-2:] if self.chance(0.6) else fits)

    def fresh(self, shape: Shape, ty: str) -> str:
        return self.value(f"tensor.empty() : {tensor(ty, shape)}")

    def filled(self, shape: Shape, ty: str) -> str:
        whole, number = tensor(ty, shape), self.number(ty)
        made = self.fresh(shape, ty)
        text = f"linalg.fill ins({number} : {ty}) outs({made} : {whole}) -> {whole}"
        return self.keep(shape, ty, text)

    def destination(self, shape: Shape, ty: str) -> str:
        """Filled, or a tensor of the shape that others may read too."""
        fits = [v for v, known in self.values.items() if known == (shape, ty)]
        if fits and self.chance(0.4):
            return self.random.choice(fits)
        return self.filled(shape, ty)

    def product(self) -> None:
        """A matmul by name or as a generic, its factors perhaps converted in it."""
        ty = self.random.choice(KINDS[self.sums])
        a = self.drawn(2, ty)
        m, k = self.values[a][0]
        n = self.random.choice(self.extents)
        b = self.destination((k, n), ty)
        out = self.destination((m, n), self.sums)
        types = [tensor(ty, (m, k)), tensor(ty, (k, n)), tensor(self.sums, (m, n))]
        ends = f"ins({a}, {b} : {types[0]}, {types[1]}) outs({out} : {types[2]})"
        if self.chance(0.6):
            self.keep((m, n), self.sums, f"linalg.matmul {ends} -> {types[2]}")
            return
        body = Maker(self.random, names=self.names)
        x, y, z = (body.name("e") for _ in range(3))
        inner = _Scalars(body)
        left, right = (inner.cast(v, ty, self.sums) for v in (x, y))
        kind = "f" if is_float(self.sums) else "i"
        term = body.value(f"arith.mul{kind} {left}, {right} : {self.sums}")
        total = body.value(f"arith.add{kind} {z}, {term} : {self.sums}")
        self.names = body.names
        maps = "(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)", "(i, j, k) -> (i, j)"
        head = ", ".join(f"affine_map<{text}>" for text in maps)
        lines = "\n".join(body.lines)
        self.keep(
            (m, n),
            self.sums,
            f"linalg.generic {{indexing_maps = [{head}], iterator_types ="
            f' ["parallel", "parallel", "reduction"]}} {ends} {{\n'
            f"^bb0({x}: {ty}, {y}: {ty}, {z}: {self.sums}):\n{lines}\n"
            f"linalg.yield {total} : {self.sums}\n}} -> {types[2]}",
        )

    def pointwise(self) -> None:
        """Inputs spread along rows or columns, one or two results of any type."""
        first = self.drawn()
        shape = self.values[first][0]
        rows, columns = shape
        inputs = [(first, "(i, j) -> (i, j)")]
        for _ in range(self.random.randint(0, 2)):
            spread, text = self.random.choice(
                [(shape, "i, j"), ((rows,), "i"), ((columns,), "j"), ((), "")]
            )
            fits = [v for v, (s, _) in self.values.items() if s == spread]
            if fits:
                inputs.append((self.random.choice(fits[-3:]), f"(i, j) -> ({text})"))
        kinds = [self.random.choice([self.sums, self.sums, "f16", "i8", "i32"])]
        kinds += [self.sums] if self.chance(0.3) else []
        outs = [
            self.fresh(shape, ty) if self.chance(0.3) else self.destination(shape, ty)
            for ty in kinds
        ]
        body = _Scalars(Maker(self.random, names=self.names))
        given = [(body.m.name("e"), self.values[v][1]) for v, _ in inputs]
        held = [(body.m.name("o"), ty) for ty in kinds]
        used = [
            pair
            for pair, out in zip(held, outs, strict=True)
            if out in self.values and self.chance(0.4)
        ]
        yielded: list[str] = []
        for ty in kinds:
            value, own = given[0]
            value = body.cast(value, own, self.sums)
            for other, its in [*given[1:], *used]:
                operand = body.cast(other, its, self.sums)
                op = self.random.choice(OPERATIONS[is_float(self.sums)])
                value = body.m.value(f"arith.{op} {value}, {operand} : {self.sums}")
            if is_float(self.sums) and self.chance(0.4):
                value = body.m.value(f"arith.negf {value} : {self.sums}")
            yielded.append(body.cast(value, self.sums, ty))
        self.names = body.m.names
        maps = ", ".join(f"affine_map<{text}>" for _, text in inputs)
        maps += ", affine_map<(i, j) -> (i, j)>" * len(outs)
        names = ", ".join(v for v, _ in inputs)
        types = ", ".join(
            tensor(self.values[v][1], self.values[v][0]) for v, _ in inputs
        )
        wholes = ", ".join(tensor(ty, shape) for ty in kinds)
        made = [self.name() for _ in kinds]
        arguments = ", ".join(f"{v}: {ty}" for v, ty in [*given, *held])
        lines = "\n".join(body.m.lines)
        self.line(
            f"{', '.join(made)} = linalg.generic {{indexing_maps = [{maps}],"
            f' iterator_types = ["parallel", "parallel"]}} ins({names} : {types})'
            f" outs({', '.join(outs)} : {wholes}) {{\n^bb0({arguments}):\n{lines}\n"
            f"linalg.yield {', '.join(yielded)} : {', '.join(kinds)}\n}}"
            f" -> ({wholes})"
        )
        self.values.update({v: (shape, ty) for v, ty in zip(made, kinds, strict=True)})

    def reduction(self) -> None:
        """Sums or maxima of rows or columns."""
        a = self.drawn()
        shape, ty = self.values[a]
        gone = self.random.choice([0, 1])
        kept = (shape[1 - gone],)
        out = self.destination(kept, ty)
        ops = ("addf", "maximumf") if is_float(ty) else ("addi", "maxsi")
        self.keep(
            kept,
            ty,
            f"linalg.reduce {{arith.{self.random.choice(ops)}}}"
            f" ins({a} : {tensor(ty, shape)}) outs({out} : {tensor(ty, kept)})"
            f" dimensions = [{gone}]",
        )

    # -- on buffers --------------------------------------------------------------------

    def nest(self, places: list[str], arrays: list[str], shape: Shape) -> None:
        """Loads and stores of a cell in any order; a cell may be stored twice."""
        whole = memref(self.sums, shape)
        i, j = self.name("i"), self.name("j")
        self.line(f"affine.for {i} = 0 to {shape[0]} {{")
        self.line(f"affine.for {j} = 0 to {shape[1]} {{")
        values = [self.number(self.sums)]
        for _ in range(self.random.randint(2, 6)):
            if self.chance(0.5):
                source = self.random.choice(places)
                values.append(self.value(f"affine.load {source}[{i}, {j}] : {whole}"))
                continue
            value = values[-1]
            if len(values) > 1 and self.chance(0.7):
                value = self.combined(self.random.choice(values), value, self.sums)
            target = self.random.choice(arrays)
            self.line(f"affine.store {value}, {target}[{i}, {j}] : {whole}")
        self.line("}\n}")


class _Scalars(Destinations):
    """Casts of scalars in a body, whose lines another maker keeps."""

    def __init__(self, maker: Maker) -> None:
        self.m = maker

    def value(self, text: str) -> str:
        return self.m.value(text)


def _on_tensors(d: Destinations) -> tuple[list[str], list[tuple[Shape, str]], str]:
    heads: list[str] = []
    given: list[tuple[Shape, str]] = []
    m, n, k = d.extents
    kinds = [*KINDS[d.sums]]
    shapes: list[tuple[Shape, str]] = [
        ((m, k), d.random.choice(kinds)),
        ((k, n), d.random.choice(kinds)),
        ((n,), d.sums),
        ((m, n), d.sums),
    ]
    for shape, ty in shapes:
        name = d.name("a")
        heads.append(f"{name}: {tensor(ty, shape)}")
        given.append((shape, ty))
        d.values[name] = shape, ty
    steps = [d.product, d.product, d.pointwise, d.pointwise, d.pointwise, d.reduction]
    for _ in range(d.random.randint(2, 6)):
        d.random.choice(steps)()
    returned = [*d.values][-d.random.randint(1, 3) :]
    types = ", ".join(tensor(d.values[v][1], d.values[v][0]) for v in returned)
    d.line(f"return {', '.join(returned)} : {types}")
    return heads, given, f" -> ({types})"


def _on_buffers(d: Destinations) -> tuple[list[str], list[tuple[Shape, str]], str]:
    m, n, k = d.extents
    ty = d.random.choice(KINDS[d.sums])
    given: list[tuple[Shape, str]] = [((m, k), ty), ((k, n), ty)]
    given += [((m, n), d.sums)] * 3
    names = [d.name("a") for _ in given]
    heads = [
        f"{name}: {memref(its, shape)}"
        for name, (shape, its) in zip(names, given, strict=True)
    ]
    whole = memref(d.sums, (m, n))
    local = d.value(f"memref.alloc() : {whole}")
    sums = local if d.chance(0.8) else names[-1]
    number = d.number(d.sums)
    d.line(f"linalg.fill ins({number} : {d.sums}) outs({local} : {whole})")
    arrays = [*names[2:], local]
    if d.chance(0.3):
        d.nest(arrays, arrays, (m, n))
    if d.chance(0.7):
        d.line(f"linalg.fill ins({number} : {d.sums}) outs({sums} : {whole})")
    factors = f"{memref(ty, (m, k))}, {memref(ty, (k, n))}"
    d.line(
        f"linalg.matmul ins({names[0]}, {names[1]} : {factors}) outs({sums} : {whole})"
    )
    for _ in range(d.random.randint(1, 3)):
        d.nest(arrays, arrays, (m, n))
    d.line(f"memref.dealloc {local} : {whole}")
    d.line("return")
    return heads, given, ""


def made(seed: int) -> Made:
    """A function on tensors, or every third one on buffers."""
    d = Destinations(seed)
    write = _on_buffers if seed % 3 == 0 else _on_tensors
    heads, given, results = write(d)
    body = "\n".join(d.lines)
    text = f"func.func @f({', '.join(heads)}){results} {{\n{body}\n}}"
    arguments = [numbers(d.random, shape, ty) for shape, ty in given]
    return Made("destinations", seed, text, arguments)
