"""Made programs on tensors: text, and what it means by NumPy on values.

Every value is a line of i32.  A statement appends text and a step of the evaluation,
which never changes an array: so it knows nothing of buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

Env = dict[str, np.ndarray]
Step = Callable[[Env], None]
LENGTHS = (4, 8)
BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "addi": np.add,
    "subi": np.subtract,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
}


def ty(n: int) -> str:
    return f"tensor<{n}xi32>"


@dataclass
class Scope:
    """Tensors that can be used, by length, and index values with their bounds."""

    tensors: dict[str, int]
    indices: dict[str, int]

    def inner(self) -> Scope:
        return Scope(dict(self.tensors), dict(self.indices))


@dataclass
class Maker:
    """Draws statements; ``names`` counts what was named."""

    random: Random
    names: int = 0
    kinds: set[str] = field(default_factory=set[str])

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def tensor(self, scope: Scope, length: int | None = None) -> str:
        fits = [t for t, n in scope.tensors.items() if length in (None, n)]
        recent = fits[-3:]
        return self.random.choice(recent if self.random.random() < 0.6 else fits)

    # -- statements: (text, step) --------------------------------------------------

    def block(self, scope: Scope, count: int, depth: int) -> tuple[list[str], list[Step]]:
        lines: list[str] = []
        steps: list[Step] = []
        for _ in range(count):
            simple = [
                self.arithmetic,
                self.accumulate,
                self.put_scalar,
                self.put_slice,
                self.put_slice,
                self.reshape,
                self.border,
                self.update_part,
                self.update_part,
            ]
            nested = [self.loop, self.branch, self.shared, self.repeat] if depth else []
            make = self.random.choice(simple + nested)
            self.kinds.add(make.__name__)
            lines += make(scope, steps, depth)
        return lines, steps

    def bind(self, scope: Scope, steps: list[Step], n: int, value: Callable[[Env], np.ndarray]) -> str:
        made = self.name()
        scope.tensors[made] = n

        def step(env: Env) -> None:
            env[made] = np.asarray(value(env), "i4")

        steps.append(step)
        return made

    def arithmetic(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        n = self.random.choice(LENGTHS)
        a, b = self.tensor(scope, n), self.tensor(scope, n)
        op = self.random.choice(list(BINARY))
        made = self.bind(scope, steps, n, lambda env: BINARY[op](env[a], env[b]))
        return [f"{made} = arith.{op} {a}, {b} : {ty(n)}"]

    def accumulate(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        """``out + a`` at the same place, or with ``a`` from the other end."""
        n = self.random.choice(LENGTHS)
        a, out = self.tensor(scope, n), self.tensor(scope, n)
        turned, uses = self.random.random() < 0.5, self.random.random() < 0.7
        map_ = f"affine_map<(d) -> ({n - 1} - d)>" if turned else "affine_map<(d) -> (d)>"

        def value(env: Env) -> np.ndarray:
            given = env[a][::-1] if turned else env[a]
            return given + env[out] if uses else given * 3

        made = self.bind(scope, steps, n, value)
        body = "%s = arith.addi %x, %y : i32" if uses else "%q = arith.constant 3 : i32\n%s = arith.muli %x, %q : i32"
        return [
            f"{made} = linalg.generic {{indexing_maps = [{map_}, affine_map<(d) -> (d)>],",
            f'iterator_types = ["parallel"]}} ins({a} : {ty(n)}) outs({out} : {ty(n)}) {{',
            f"^bb0(%x: i32, %y: i32):\n{body}\nlinalg.yield %s : i32\n}} -> {ty(n)}",
        ]

    def put_scalar(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        t, source = self.tensor(scope), self.tensor(scope)
        n, m = scope.tensors[t], scope.tensors[source]
        at, start = self.random.randrange(n), self.random.randrange(m)
        c, d, s = self.name(), self.name(), self.name()

        def value(env: Env) -> np.ndarray:
            result = env[t].copy()
            result[at] = env[source][start]
            return result

        made = self.bind(scope, steps, n, value)
        return [
            f"{c} = arith.constant {at} : index\n{d} = arith.constant {start} : index",
            f"{s} = tensor.extract {source}[{d}] : {ty(m)}",
            f"{made} = tensor.insert {s} into {t}[{c}] : {ty(n)}",
        ]

    def offset(self, scope: Scope, room: int) -> tuple[str, Callable[[Env], int]]:
        """An offset of at most ``room``: a number, or the variable of a loop."""
        fits = [i for i, bound in scope.indices.items() if bound <= room + 1]
        if fits and self.random.random() < 0.6:
            chosen = self.random.choice(fits)
            return chosen, lambda env: int(env[chosen])
        number = self.random.randint(0, room)
        return str(number), lambda env: number

    def put_slice(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        """A part of 4 of one tensor goes to a place in another one."""
        source, target = self.tensor(scope), self.tensor(scope, 8)
        n, step = scope.tensors[source], self.random.choice([1, 1, 1])
        first, take = self.offset(scope, n - 4)
        second, give = self.offset(scope, 4)
        part = self.name()
        scope.tensors[part] = 4

        def slice_(env: Env) -> None:
            env[part] = env[source][take(env) : take(env) + 4].copy()

        def value(env: Env) -> np.ndarray:
            result = env[target].copy()
            result[give(env) : give(env) + 4] = env[part]
            return result

        steps.append(slice_)
        made = self.bind(scope, steps, 8, value)
        return [
            f"{part} = tensor.extract_slice {source}[{first}] [4] [{step}] : {ty(n)} to {ty(4)}",
            f"{made} = tensor.insert_slice {part} into {target}[{second}] [4] [1]"
            f" : {ty(4)} into {ty(8)}",
        ]

    def update_part(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        """What tiling makes: a part is taken out, updated, and put back."""
        target, other = self.tensor(scope, 8), self.tensor(scope, 4)
        stride = self.random.choice([1, 2])
        text, give = self.offset(scope, 4 if stride == 1 else 1)
        part, new, made = self.name(), self.name(), self.name()
        scope.tensors |= {part: 4, new: 4, made: 8}

        def step(env: Env) -> None:
            at = slice(give(env), give(env) + 3 * stride + 1, stride)
            env[part] = env[target][at].copy()
            env[new] = env[part] + env[other]
            env[made] = env[target].copy()
            env[made][at] = env[new]

        steps.append(step)
        where = f"[{text}] [4] [{stride}]"
        return [
            f"{part} = tensor.extract_slice {target}{where} : {ty(8)} to {ty(4)}",
            f"{new} = linalg.add ins({part}, {other} : {ty(4)}, {ty(4)})"
            f" outs({part} : {ty(4)}) -> {ty(4)}",
            f"{made} = tensor.insert_slice {new} into {target}{where} : {ty(4)} into {ty(8)}",
        ]

    def reshape(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        """Rows of two are turned around on the way."""
        t = self.tensor(scope, 8)
        square, line = self.name(), self.name()
        made = self.bind(scope, steps, 8, lambda env: env[t].reshape(2, 4).T.reshape(8))
        shape = "tensor<2x4xi32>"
        e, q = self.name(), "tensor<4x2xi32>"
        return [
            f"{square} = tensor.expand_shape {t} [[0, 1]] output_shape [2, 4] : {ty(8)} into {shape}",
            f"{e} = tensor.empty() : {q}",
            f"{line} = linalg.transpose ins({square} : {shape}) outs({e} : {q}) permutation = [1, 0]",
            f"{made} = tensor.collapse_shape {line} [[0, 1]] : {q} into {ty(8)}",
        ]

    def border(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        t = self.tensor(scope, 4)
        low = self.random.randint(0, 4)
        c = self.name()
        made = self.bind(
            scope, steps, 8, lambda env: np.pad(env[t], (low, 4 - low), constant_values=5)
        )
        return [
            f"{c} = arith.constant 5 : i32",
            f"{made} = tensor.pad {t} low[{low}] high[{4 - low}] {{\n^bb0(%i: index):",
            f"tensor.yield {c} : i32\n}} : {ty(4)} to {ty(8)}",
        ]

    # -- control -------------------------------------------------------------------

    def loop(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        """``scf.for`` that carries one or two tensors."""
        count, trips = self.random.choice([1, 1, 2]), self.random.randint(0, 3)
        inits = [self.tensor(scope) for _ in range(count)]
        lengths = [scope.tensors[i] for i in inits]
        arguments = [self.name() for _ in inits]
        iv, results = self.name(), [self.name() for _ in inits]
        inner = scope.inner()
        inner.tensors |= dict(zip(arguments, lengths, strict=True))
        inner.indices[iv] = max(trips, 1)
        lines, body = self.block(inner, self.random.randint(1, 4), depth - 1)
        yielded = [self.tensor(inner, n) for n in lengths]
        scope.tensors |= dict(zip(results, lengths, strict=True))

        def step(env: Env) -> None:
            carried = [env[i] for i in inits]
            for k in range(trips):
                env |= dict(zip(arguments, carried, strict=True))
                env[iv] = np.int32(k)  # type: ignore[assignment]
                for s in body:
                    s(env)
                carried = [env[y] for y in yielded]
            env |= dict(zip(results, carried, strict=True))

        steps.append(step)
        types = ", ".join(map(ty, lengths))
        pairs = ", ".join(f"{a} = {i}" for a, i in zip(arguments, inits, strict=True))
        bounds = [self.name() for _ in range(3)]
        numbers = zip(bounds, (0, trips, 1), strict=True)
        return [
            *(f"{b} = arith.constant {n} : index" for b, n in numbers),
            f"{', '.join(results)} = scf.for {iv} = {bounds[0]} to {bounds[1]} step {bounds[2]}",
            f"iter_args({pairs}) -> ({types}) {{",
            *lines,
            f"scf.yield {', '.join(yielded)} : {types}\n}}",
        ]

    def repeat(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        """``scf.while`` that counts."""
        init, trips = self.tensor(scope), self.random.randint(0, 2)
        n = scope.tensors[init]
        x, k, y, m, go = (self.name() for _ in range(5))
        made, count, one, last, zero = (self.name() for _ in range(5))
        first, second = scope.inner(), scope.inner()
        first.tensors[x] = n
        lines, before = self.block(first, self.random.randint(0, 2), 0)
        passed = self.tensor(first, n)
        second.tensors[y] = n
        more, after = self.block(second, self.random.randint(0, 2), 0)
        yielded = self.tensor(second, n)
        scope.tensors[made] = n

        def step(env: Env) -> None:
            carried = env[init]
            for k_ in range(trips + 1):
                env[x] = carried
                for s in before:
                    s(env)
                env[y] = env[made] = env[passed]
                if k_ < trips:
                    for s in after:
                        s(env)
                    carried = env[yielded]

        steps.append(step)
        return [
            f"{zero} = arith.constant 0 : index\n{one} = arith.constant 1 : index",
            f"{last} = arith.constant {trips} : index",
            f"{made}, {count} = scf.while ({x} = {init}, {k} = {zero})"
            f" : ({ty(n)}, index) -> ({ty(n)}, index) {{",
            *lines,
            f"{go} = arith.cmpi slt, {k}, {last} : index",
            f"scf.condition({go}) {passed}, {k} : {ty(n)}, index\n}} do {{",
            f"^bb0({y}: {ty(n)}, {m}: index):",
            *more,
            f"{self.next_index(m, one)}",
            f"scf.yield {yielded}, %i{self.names} : {ty(n)}, index\n}}",
        ]

    def next_index(self, m: str, one: str) -> str:
        self.names += 1
        return f"%i{self.names} = arith.addi {m}, {one} : index"

    def branch(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        """``scf.if`` on an element, yielding one or two tensors."""
        lengths = [self.random.choice(LENGTHS) for _ in range(self.random.choice([1, 2]))]
        asked = self.tensor(scope)
        n, c, at, z, p = scope.tensors[asked], *(self.name() for _ in range(4))
        first, second = scope.inner(), scope.inner()
        lines, then = self.block(first, self.random.randint(0, 3), depth - 1)
        more, other = self.block(second, self.random.randint(0, 3), depth - 1)
        chosen = [self.tensor(first, m) for m in lengths]
        others = [self.tensor(second, m) for m in lengths]
        results = [self.name() for _ in lengths]
        scope.tensors |= dict(zip(results, lengths, strict=True))

        def step(env: Env) -> None:
            is_then = env[asked][1] > 0
            for s in then if is_then else other:
                s(env)
            values = [env[v] for v in (chosen if is_then else others)]
            env |= dict(zip(results, values, strict=True))

        steps.append(step)
        types = ", ".join(map(ty, lengths))
        return [
            f"{at} = arith.constant 1 : index\n{z} = arith.constant 0 : i32",
            f"{c} = tensor.extract {asked}[{at}] : {ty(n)}",
            f"{p} = arith.cmpi sgt, {c}, {z} : i32",
            f"{', '.join(results)} = scf.if {p} -> ({types}) {{",
            *lines,
            f"scf.yield {', '.join(chosen)} : {types}\n}} else {{",
            *more,
            f"scf.yield {', '.join(others)} : {types}\n}}",
        ]

    def shared(self, scope: Scope, steps: list[Step], depth: int) -> list[str]:
        """``scf.forall``: two halves, each from its own part or from the other one."""
        init = self.tensor(scope, 8)
        own = self.random.random() < 0.6
        iv, seen, at, part, made = (self.name() for _ in range(5))
        inner = scope.inner()
        inner.tensors[part] = 4
        lines, body = self.block(inner, self.random.randint(0, 2), 0)
        put = self.tensor(inner, 4)
        scope.tensors[made] = 8

        def step(env: Env) -> None:
            result = env[init].copy()
            for k in (0, 4):
                start = k if own else 4 - k
                env[part] = env[init][start : start + 4].copy()
                for s in body:
                    s(env)
                result[k : k + 4] = env[put]
            env[made] = result

        steps.append(step)
        self.names += 1
        other = f"%o{self.names}"
        text = f"{at} = arith.constant 4 : index\n{other} = arith.subi {at}, {iv} : index"
        where = iv if own else other
        return [
            f"{made} = scf.forall ({iv}) = (0) to (8) step (4)",
            f"shared_outs({seen} = {init}) -> ({ty(8)}) {{\n{text}",
            f"{part} = tensor.extract_slice {seen}[{where}] [4] [1] : {ty(8)} to {ty(4)}",
            *lines,
            "scf.forall.in_parallel {",
            f"tensor.parallel_insert_slice {put} into {seen}[{iv}] [4] [1]"
            f" : {ty(4)} into {ty(8)}\n}}\n}}",
        ]


@dataclass(frozen=True)
class TensorProgram:
    """Text of a function, and its meaning."""

    text: str
    steps: Sequence[Step]
    returned: Sequence[str]
    kinds: frozenset[str]

    def answer(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        env = {"%a": a, "%b": b, "%k": np.arange(4, dtype="i4") - 1}
        for step in self.steps:
            step(env)
        return [env[name] for name in self.returned]


def made_program(seed: int, size: int = 8) -> TensorProgram:
    """A program of ``size`` statements at the top."""
    maker = Maker(Random(seed))
    scope = Scope({"%a": 8, "%b": 4, "%k": 4}, {})
    lines, steps = maker.block(scope, size, 2)
    returned = [maker.tensor(scope) for _ in range(3)]
    types = ", ".join(ty(scope.tensors[name]) for name in returned)
    text = "\n".join(
        [
            f"func.func @f(%a: {ty(8)}, %b: {ty(4)}) -> ({types}) {{",
            f"%k = arith.constant dense<[-1, 0, 1, 2]> : {ty(4)}",
            *lines,
            f"return {', '.join(returned)} : {types}\n}}",
        ]
    )
    return TensorProgram(text, steps, returned, frozenset(maker.kinds))
