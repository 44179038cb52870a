"""Statements of made programs on tensors: text, and what it means by NumPy.

Every value is a line of i32.  A statement appends text and a step of the evaluation,
which never changes an array: so it knows nothing of buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np

Env = dict[str, np.ndarray]
Step = Callable[[Env], None]
Statement = Callable[["Scope", list[Step], int], list[str]]
LENGTHS = (4, 8)
SAME = "affine_map<(d) -> (d)>"
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
class Statements:
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

    def nested(self) -> list[Statement]:
        """Statements with blocks of others."""
        return []

    # -- statements: (text, step) --------------------------------------------------

    def block(
        self, scope: Scope, count: int, depth: int
    ) -> tuple[list[str], list[Step]]:
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
            nested = self.nested() if depth else []
            make = self.random.choice(simple + nested)
            self.kinds.add(make.__name__)
            lines += make(scope, steps, depth)
        return lines, steps

    def bind(
        self,
        scope: Scope,
        steps: list[Step],
        n: int,
        value: Callable[[Env], np.ndarray],
    ) -> str:
        made = self.name()
        scope.tensors[made] = n

        def step(env: Env) -> None:
            env[made] = np.asarray(value(env), "i4")

        steps.append(step)
        return made

    def arithmetic(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
        n = self.random.choice(LENGTHS)
        a, b = self.tensor(scope, n), self.tensor(scope, n)
        op = self.random.choice(list(BINARY))
        made = self.bind(scope, steps, n, lambda env: BINARY[op](env[a], env[b]))
        return [f"{made} = arith.{op} {a}, {b} : {ty(n)}"]

    def accumulate(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
        """``out + a`` at the same place, or with ``a`` from the other end."""
        n = self.random.choice(LENGTHS)
        a, out = self.tensor(scope, n), self.tensor(scope, n)
        turned, uses = self.random.random() < 0.5, self.random.random() < 0.7
        map_ = f"affine_map<(d) -> ({n - 1} - d)>" if turned else SAME

        def value(env: Env) -> np.ndarray:
            given = env[a][::-1] if turned else env[a]
            return given + env[out] if uses else given * 3

        made = self.bind(scope, steps, n, value)
        body = (
            "%s = arith.addi %x, %y : i32"
            if uses
            else "%q = arith.constant 3 : i32\n%s = arith.muli %x, %q : i32"
        )
        return [
            f"{made} = linalg.generic {{indexing_maps = [{map_}, {SAME}],",
            'iterator_types = ["parallel"]}',
            f"ins({a} : {ty(n)}) outs({out} : {ty(n)}) {{",
            f"^bb0(%x: i32, %y: i32):\n{body}\nlinalg.yield %s : i32\n}} -> {ty(n)}",
        ]

    def put_scalar(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
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
        return str(number), lambda _: number

    def put_slice(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
        """A part of 4 of one tensor goes to a place in another one."""
        source, target = self.tensor(scope), self.tensor(scope, 8)
        n = scope.tensors[source]
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
            f"{part} = tensor.extract_slice {source}[{first}] [4] [1]",
            f": {ty(n)} to {ty(4)}",
            f"{made} = tensor.insert_slice {part} into {target}[{second}] [4] [1]",
            f": {ty(4)} into {ty(8)}",
        ]

    def update_part(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
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
            f"{new} = linalg.map {{arith.addi}}",
            f"ins({part}, {other} : {ty(4)}, {ty(4)})",
            f"outs({part} : {ty(4)})",
            f"{made} = tensor.insert_slice {new} into {target}{where}",
            f": {ty(4)} into {ty(8)}",
        ]

    def reshape(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
        """Rows of two are turned around on the way."""
        t = self.tensor(scope, 8)
        square, line = self.name(), self.name()
        made = self.bind(scope, steps, 8, lambda env: env[t].reshape(2, 4).T.reshape(8))
        shape = "tensor<2x4xi32>"
        e, q = self.name(), "tensor<4x2xi32>"
        return [
            f"{square} = tensor.expand_shape {t} [[0, 1]] output_shape [2, 4]",
            f": {ty(8)} into {shape}",
            f"{e} = tensor.empty() : {q}",
            f"{line} = linalg.transpose ins({square} : {shape}) outs({e} : {q})",
            "permutation = [1, 0]",
            f"{made} = tensor.collapse_shape {line} [[0, 1]] : {q} into {ty(8)}",
        ]

    def border(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
        t = self.tensor(scope, 4)
        low = self.random.randint(0, 4)
        c = self.name()
        made = self.bind(
            scope,
            steps,
            8,
            lambda env: np.pad(env[t], (low, 4 - low), constant_values=5),
        )
        return [
            f"{c} = arith.constant 5 : i32",
            f"{made} = tensor.pad {t} low[{low}] high[{4 - low}] {{\n^bb0(%i: index):",
            f"tensor.yield {c} : i32\n}} : {ty(4)} to {ty(8)}",
        ]
