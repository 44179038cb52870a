"""Made programs on tensors: loops and branches around statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from tests.tensors.statements import (
    LENGTHS,
    Env,
    Scope,
    Statement,
    Statements,
    Step,
    ty,
)


class Maker(Statements):
    """Draws statements, those with blocks included."""

    def nested(self) -> list[Statement]:
        return [self.loop, self.branch, self.shared, self.repeat]

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
            f"{', '.join(results)} = scf.for {iv} = {bounds[0]}",
            f"to {bounds[1]} step {bounds[2]}",
            f"iter_args({pairs}) -> ({types}) {{",
            *lines,
            f"scf.yield {', '.join(yielded)} : {types}\n}}",
        ]

    def repeat(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
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
            f"{made}, {count} = scf.while ({x} = {init}, {k} = {zero})",
            f": ({ty(n)}, index) -> ({ty(n)}, index) {{",
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
        lengths = [
            self.random.choice(LENGTHS) for _ in range(self.random.choice([1, 2]))
        ]
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

    def shared(self, scope: Scope, steps: list[Step], _depth: int) -> list[str]:
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
        text = (
            f"{at} = arith.constant 4 : index\n{other} = arith.subi {at}, {iv} : index"
        )
        where = iv if own else other
        return [
            f"{made} = scf.forall ({iv}) = (0) to (8) step (4)",
            f"shared_outs({seen} = {init}) -> ({ty(8)}) {{\n{text}",
            f"{part} = tensor.extract_slice {seen}[{where}] [4] [1]",
            f": {ty(8)} to {ty(4)}",
            *lines,
            "scf.forall.in_parallel {",
            f"tensor.parallel_insert_slice {put} into {seen}[{iv}] [4] [1]",
            f": {ty(4)} into {ty(8)}\n}}\n}}",
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
