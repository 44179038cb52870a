"""Graphs of StableHLO and TOSA as exporters print them, beside NumPy.

Both dialects become linalg before the interpreter runs, so NumPy is the oracle: a step
writes an operation and computes its value. Every value may have several readers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from tests.made.program import Made, Maker, numbers, tensor

Array = np.ndarray[Any, Any]
EXTENTS = (1, 2, 3, 4, 5, 8, 17)
DTYPES = {"f32": np.float32, "i32": np.int32, "i1": np.bool_}
SUMS = {"add": np.add.reduce, "maximum": np.maximum.reduce}


class Graph(Maker, ABC):
    """Values by name, with what NumPy computes for them."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.ty = self.random.choice(["f32", "f32", "i32"])
        self.values: dict[str, Array] = {}

    @property
    def is_float(self) -> bool:
        return self.ty == "f32"

    def of(self, array: Array) -> str:
        (ty,) = (n for n, dtype in DTYPES.items() if array.dtype == dtype)
        return tensor(ty, array.shape)

    def type(self, name: str) -> str:
        return self.of(self.values[name])

    def keep(self, text: str, value: Any) -> str:
        """An operation whose text ends with its result type, or holds it at ``@``."""
        made = self.name()
        self.values[made] = array = np.asarray(value)
        self.line(f"{made} = {text.replace('@', self.of(array))}")
        return made

    def drawn(self, rank: int | None = None, kind: str = "") -> str:
        fits = [
            name
            for name, array in self.values.items()
            if rank in (None, array.ndim)
            and array.dtype == DTYPES[kind or self.ty]
            and (rank is not None or array.ndim > 0)
        ]
        if not fits:
            fits = [self.constant(tuple(self.extent() for _ in range(rank or 2)))]
        return self.random.choice(fits[-3:] if self.chance(0.6) else fits)

    def like(self, shape: Sequence[int]) -> str:
        """A value of the shape and the type of the graph."""
        dtype = DTYPES[self.ty]
        fits = [
            name
            for name, array in self.values.items()
            if array.shape == tuple(shape) and array.dtype == dtype
        ]
        return self.random.choice(fits) if fits else self.constant(tuple(shape))

    def extent(self) -> int:
        return self.random.choice(EXTENTS)

    def constant(self, shape: tuple[int, ...]) -> str:
        number = self.random.choice([-2, -1, 0, 1, 2, 3])
        return self.splat(shape, number)

    @abstractmethod
    def splat(self, shape: tuple[int, ...], number: int) -> str:
        """One number in every place."""

    def small(self, a: str) -> bool:
        """Whether products of the value stay exact."""
        array = self.values[a]
        return not array.size or float(np.abs(array.astype("f8")).max()) < 64

    def axis(self, a: str) -> int:
        return self.random.randrange(self.values[a].ndim)

    @abstractmethod
    def steps(self) -> list[Callable[[], None]]:
        """What may come next, each as often as it is likely."""


class StableHlo(Graph):
    """What JAX prints."""

    def op(self, name: str, *operands: str) -> str:
        types = ", ".join(map(self.type, operands))
        return f"stablehlo.{name} {', '.join(operands)} : ({types}) -> @"

    def splat(self, shape: tuple[int, ...], number: int) -> str:
        text = f"{float(number):e}" if self.is_float else str(number)
        scalar = np.asarray(number, DTYPES[self.ty])
        one = self.keep(f"stablehlo.constant dense<{text}> : @", scalar)
        if not shape:
            return one
        return self.keep(
            f"stablehlo.broadcast_in_dim {one}, dims = [] : ({self.type(one)}) -> @",
            np.full(shape, scalar),
        )

    def binary(self) -> None:
        a = self.drawn()
        b = self.like(self.values[a].shape)
        known: dict[str, Any] = {
            "add": np.add,
            "subtract": np.subtract,
            "maximum": np.maximum,
            "minimum": np.minimum,
        }
        if self.small(a) and self.small(b):
            known["multiply"] = np.multiply
        name = self.random.choice([*known])
        x, y = self.values[a], self.values[b]
        self.keep(f"stablehlo.{name} {a}, {b} : @", known[name](x, y))

    def unary(self) -> None:
        a = self.drawn()
        x = self.values[a]
        known: dict[str, Any] = {"negate": np.negative, "abs": np.abs}
        if self.is_float:
            known |= {"floor": np.floor, "tanh": np.tanh, "logistic": _logistic}
        name = self.random.choice([*known])
        self.keep(f"stablehlo.{name} {a} : @", known[name](x).astype(x.dtype))

    def chosen(self) -> None:
        a = self.drawn()
        b = self.like(self.values[a].shape)
        x, y = self.values[a], self.values[b]
        kind = self.random.choice([*_COMPARED])
        how = "FLOAT" if self.is_float else "SIGNED"
        types = f"({self.type(a)}, {self.type(b)})"
        asked = self.keep(
            f"stablehlo.compare {kind}, {a}, {b}, {how} : {types} -> @",
            _COMPARED[kind](x, y),
        )
        self.keep(
            f"stablehlo.select {asked}, {a}, {b} : {self.type(asked)}, @",
            np.where(self.values[asked], x, y),
        )
        if self.chance(0.4):
            new = f"stablehlo.convert {asked} : ({self.type(asked)}) -> @"
            self.keep(new, self.values[asked].astype(DTYPES[self.ty]))

    def product(self) -> None:
        a = self.drawn(2)
        if not self.small(a):
            return
        x = self.values[a]
        b = self.like((x.shape[1], self.extent()))
        if not self.small(b):
            return
        self.keep(
            f"stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0],"
            " precision = [DEFAULT, DEFAULT]"
            f" : ({self.type(a)}, {self.type(b)}) -> @",
            x @ self.values[b],
        )

    def reduction(self) -> None:
        a = self.drawn()
        x, axis = self.values[a], self.axis(a)
        name = self.random.choice([*SUMS])
        low = 0 if name == "add" else -1000
        first = self.splat((), low)
        found = np.asarray(SUMS[name](x, axis=axis), x.dtype)
        self.keep(
            f"stablehlo.reduce({a} init: {first}) applies stablehlo.{name} across"
            f" dimensions = [{axis}] : ({self.type(a)}, {self.type(first)}) -> @",
            found,
        )

    def spread(self) -> None:
        a = self.drawn()
        x = self.values[a]
        if x.ndim > 2:
            return
        at = self.random.randint(0, x.ndim)
        whole = (*x.shape[:at], self.extent(), *x.shape[at:])
        dims = [d for d in range(len(whole)) if d != at]
        self.keep(
            f"stablehlo.broadcast_in_dim {a}, dims = {dims} : ({self.type(a)}) -> @",
            np.broadcast_to(np.expand_dims(x, at), whole).copy(),
        )

    def moved(self) -> None:
        """Another order, direction or shape of the same elements."""
        a = self.drawn()
        x = self.values[a]
        order = list(range(x.ndim))
        self.random.shuffle(order)
        flip = self.axis(a)
        other = (
            (x.shape[0] * x.shape[-1], *x.shape[1:-1]) if x.ndim > 1 else (1, x.size)
        )
        text, value = self.random.choice(
            [
                (f"transpose {a}, dims = {order}", x.transpose(order)),
                (f"reshape {a}", x.reshape(other)),
            ]
        )
        if self.chance(0.3):
            self.keep(f"stablehlo.reverse {a}, dims = [{flip}] : @", np.flip(x, flip))
            return
        self.keep(f"stablehlo.{text} : ({self.type(a)}) -> @", value.copy())

    def part(self) -> None:
        a = self.drawn()
        x = self.values[a]
        cuts = [_cut(self.random, n) for n in x.shape]
        text = ", ".join(
            f"{c.start}:{c.stop}" + (f":{c.step}" if c.step > 1 else "") for c in cuts
        )
        self.keep(
            f"stablehlo.slice {a} [{text}] : ({self.type(a)}) -> @",
            x[tuple(cuts)].copy(),
        )

    def joined(self) -> None:
        a = self.drawn()
        axis = self.axis(a)
        b = self.like(self.values[a].shape)
        self.keep(
            f"stablehlo.concatenate {a}, {b}, dim = {axis}"
            f" : ({self.type(a)}, {self.type(b)}) -> @",
            np.concatenate([self.values[a], self.values[b]], axis),
        )

    def padded(self) -> None:
        a = self.drawn()
        x = self.values[a]
        low, high = ([self.random.randint(0, 2) for _ in x.shape] for _ in range(2))
        inner = [self.random.randint(0, 1) for _ in x.shape]
        number = self.random.choice([0, 1, -3])
        one = self.splat((), number)
        shape = [
            lo + hi + n + max(n - 1, 0) * i
            for lo, hi, i, n in zip(low, high, inner, x.shape, strict=True)
        ]
        whole = np.full(shape, number, x.dtype)
        at = tuple(
            slice(lo, lo + (n - 1) * (i + 1) + 1, i + 1)
            for lo, i, n in zip(low, inner, x.shape, strict=True)
        )
        whole[at] = x
        self.keep(
            f"stablehlo.pad {a}, {one}, low = {low}, high = {high}, interior = {inner}"
            f" : ({self.type(a)}, {self.type(one)}) -> @",
            whole,
        )

    def moving(self) -> None:
        """A slice at a place that is computed, or an update there."""
        a = self.drawn(2)
        x = self.values[a]
        sizes = [self.random.randint(1, n) for n in x.shape]
        starts = [self.random.randint(-2, n) for n in x.shape]
        names = [
            self.keep(f"stablehlo.constant dense<{n}> : @", np.asarray(n, np.int32))
            for n in starts
        ]
        at = tuple(
            slice(s, s + k)
            for k, s in (
                (k, min(max(s, 0), n - k))
                for k, s, n in zip(sizes, starts, x.shape, strict=True)
            )
        )
        where, kinds = ", ".join(names), "tensor<i32>, tensor<i32>"
        if self.chance(0.5):
            self.keep(
                f"stablehlo.dynamic_slice {a}, {where}, sizes = {sizes}"
                f" : ({self.type(a)}, {kinds}) -> @",
                x[at].copy(),
            )
            return
        b = self.like(sizes)
        new = x.copy()
        new[at] = self.values[b]
        self.keep(
            f"stablehlo.dynamic_update_slice {a}, {b}, {where}"
            f" : ({self.type(a)}, {self.type(b)}, {kinds}) -> @",
            new,
        )

    def counted(self) -> None:
        """A loop that doubles, adds and turns."""
        a = self.drawn()
        x, count = self.values[a], self.random.randint(0, 3)
        b = self.like(x.shape)
        zero, one, most = (
            self.keep(f"stablehlo.constant dense<{n}> : @", np.asarray(n, np.int32))
            for n in (0, 1, count)
        )
        axis, ty, made = self.axis(a), self.type(a), self.name()
        i, v, c, n, r, s = (self.name("w") for _ in range(6))
        self.line(
            f"{made}:2 = stablehlo.while({i} = {zero}, {v} = {a}) : tensor<i32>, {ty}\n"
            f"cond {{\n{c} = stablehlo.compare LT, {i}, {most}, SIGNED"
            " : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            f"stablehlo.return {c} : tensor<i1>\n}} do {{\n"
            f"{n} = stablehlo.add {i}, {one} : tensor<i32>\n"
            f"{r} = stablehlo.reverse {v}, dims = [{axis}] : {ty}\n"
            f"{s} = stablehlo.add {r}, {b} : {ty}\n"
            f"stablehlo.return {n}, {s} : tensor<i32>, {ty}\n}}"
        )
        for _ in range(count):
            x = np.flip(x, axis) + self.values[b]
        self.values[f"{made}#1"] = np.asarray(x)

    def steps(self) -> list[Callable[[], None]]:
        often = [self.binary, self.product, self.unary]
        return [
            *often,
            *often,
            self.chosen,
            self.reduction,
            self.spread,
            self.moved,
            self.part,
            self.joined,
            self.padded,
            self.moving,
            self.counted,
        ]


class Tosa(Graph):
    """What exporters of TensorFlow Lite and PyTorch print."""

    def splat(self, shape: tuple[int, ...], number: int) -> str:
        text = f"{float(number):e}" if self.is_float else str(number)
        return self.keep(
            f'"tosa.const"() <{{values = dense<{text}> : @}}> : () -> @',
            np.full(shape, number, DTYPES[self.ty]),
        )

    def shape(self, extents: Sequence[int]) -> str:
        made, rank = self.name("s"), len(extents)
        self.line(
            f"{made} = tosa.const_shape {{values = dense<{[*extents]}>"
            f" : tensor<{rank}xindex>}} : () -> !tosa.shape<{rank}>"
        )
        return made

    def call(
        self, name: str, operands: Sequence[str], value: Any, more: str = ""
    ) -> str:
        types = ", ".join(map(self.type, operands))
        text = f"tosa.{name} {', '.join(operands)}{more} : ({types}) -> @"
        return self.keep(text, value)

    def binary(self) -> None:
        """Extents of one stretch."""
        a = self.drawn()
        x = self.values[a]
        b = self.like(tuple(1 if self.chance(0.2) else n for n in x.shape))
        y = self.values[b]
        known: dict[str, Any] = {
            "add": np.add,
            "sub": np.subtract,
            "maximum": np.maximum,
            "minimum": np.minimum,
        }
        name = self.random.choice([*known])
        self.call(name, [a, b], known[name](x, y))

    def multiplied(self) -> None:
        a = self.drawn()
        b = self.like(self.values[a].shape)
        if not (self.small(a) and self.small(b)):
            return
        made = self.name("z")
        self.line(
            f'{made} = "tosa.const"() <{{values = dense<0> : tensor<1xi8>}}>'
            " : () -> tensor<1xi8>"
        )
        x, y = self.values[a], self.values[b]
        self.keep(
            f"tosa.mul {a}, {b}, {made}"
            f" : ({self.type(a)}, {self.type(b)}, tensor<1xi8>) -> @",
            x * y,
        )

    def unary(self) -> None:
        a = self.drawn()
        x = self.values[a]
        known: dict[str, Any] = {"abs": np.abs}
        if self.is_float:
            known |= {"floor": np.floor, "tanh": np.tanh, "sigmoid": _logistic}
        name = self.random.choice([*known])
        self.call(name, [a], known[name](x).astype(x.dtype))

    def clamped(self) -> None:
        a = self.drawn()
        low, high = sorted(self.random.sample(range(-4, 5), 2))
        ends = (f"{low}.0", f"{high}.0") if self.is_float else (low, high)
        more = f" {{min_val = {ends[0]} : {self.ty}, max_val = {ends[1]} : {self.ty}}}"
        self.call("clamp", [a], np.clip(self.values[a], low, high), more)

    def chosen(self) -> None:
        a = self.drawn()
        b = self.like(self.values[a].shape)
        x, y = self.values[a], self.values[b]
        name = self.random.choice(["greater", "greater_equal", "equal"])
        bits = getattr(np, name)(x, y)
        asked = self.call(name, [a, b], bits)
        self.call("select", [asked, b, a], np.where(bits, y, x))

    def product(self) -> None:
        a = self.drawn(3)
        x = self.values[a]
        b = self.like((x.shape[0], x.shape[2], self.extent()))
        if not self.is_float or not (self.small(a) and self.small(b)):
            return
        zeros = [self.splat((1,), 0) for _ in range(2)]
        self.call("matmul", [a, b, *zeros], x @ self.values[b])

    def reduction(self) -> None:
        a = self.drawn()
        x, axis = self.values[a], self.axis(a)
        known: dict[str, Any] = {"sum": np.sum, "max": np.max, "min": np.min}
        name = self.random.choice([*known])
        found = known[name](x, axis=axis, keepdims=True).astype(x.dtype)
        self.call(f"reduce_{name}", [a], found, f" {{axis = {axis} : i32}}")

    def place(self) -> None:
        a = self.drawn()
        axis = self.axis(a)
        found = np.argmax(self.values[a], axis).astype(np.int32)
        self.call("argmax", [a], found, f" {{axis = {axis} : i32}}")

    def moved(self) -> None:
        a = self.drawn()
        x = self.values[a]
        order = list(range(x.ndim))
        self.random.shuffle(order)
        flip = self.axis(a)
        if self.chance(0.5):
            perms = ", ".join(map(str, order))
            more = f" {{perms = array<i32: {perms}>}}"
            self.call("transpose", [a], x.transpose(order).copy(), more)
        elif self.chance(0.5):
            self.call(
                "reverse", [a], np.flip(x, flip).copy(), f" {{axis = {flip} : i32}}"
            )
        else:
            other = (
                (x.shape[0] * x.shape[-1], *x.shape[1:-1])
                if x.ndim > 1
                else (1, x.size)
            )
            size = self.shape(other)
            self.keep(
                f"tosa.reshape {a}, {size}"
                f" : ({self.type(a)}, !tosa.shape<{len(other)}>) -> @",
                x.reshape(other),
            )

    def part(self) -> None:
        a = self.drawn()
        x = self.values[a]
        sizes = [self.random.randint(1, n) for n in x.shape]
        starts = [
            self.random.randint(0, n - k) for n, k in zip(x.shape, sizes, strict=True)
        ]
        names = self.shape(starts), self.shape(sizes)
        ty = f"!tosa.shape<{x.ndim}>"
        at = tuple(slice(s, s + k) for s, k in zip(starts, sizes, strict=True))
        self.keep(
            f"tosa.slice {a}, {', '.join(names)} : ({self.type(a)}, {ty}, {ty}) -> @",
            x[at].copy(),
        )

    def joined(self) -> None:
        a = self.drawn()
        axis = self.axis(a)
        b = self.like(self.values[a].shape)
        both = np.concatenate([self.values[a], self.values[b]], axis)
        self.call("concat", [a, b], both, f" {{axis = {axis} : i32}}")

    def padded(self) -> None:
        a = self.drawn()
        x = self.values[a]
        pairs = [
            (self.random.randint(0, 2), self.random.randint(0, 2)) for _ in x.shape
        ]
        number = self.random.choice([0, 1, -3])
        one = self.splat((1,), number)
        size = self.shape([n for pair in pairs for n in pair])
        self.keep(
            f"tosa.pad {a}, {size}, {one}"
            f" : ({self.type(a)}, !tosa.shape<{2 * x.ndim}>, {self.type(one)}) -> @",
            np.pad(x, pairs, constant_values=number),
        )

    def convolution(self) -> None:
        """NHWC with stride one, and a bias."""
        image = self.like((1, self.random.randint(3, 6), 5, self.random.choice([1, 3])))
        x = self.values[image]
        if not self.is_float or not self.small(image):
            return
        height, width = self.random.randint(1, 3), self.random.randint(1, 3)
        kernel = self.like((self.random.choice([1, 4]), height, width, x.shape[3]))
        w = self.values[kernel]
        if not self.small(kernel):
            return
        bias = self.like((w.shape[0],))
        windows = np.lib.stride_tricks.sliding_window_view(x, (height, width), (1, 2))
        found = np.einsum("nhwcij,fijc->nhwf", windows, w) + self.values[bias]
        zeros = [self.splat((1,), 0) for _ in range(2)]
        self.call(
            "conv2d",
            [image, kernel, bias, *zeros],
            found.astype(np.float32),
            " {acc_type = f32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>,"
            " dilation = array<i64: 1, 1>}",
        )

    def steps(self) -> list[Callable[[], None]]:
        often = [self.binary, self.product, self.multiplied]
        return [
            *often,
            *often,
            self.unary,
            self.clamped,
            self.chosen,
            self.reduction,
            self.place,
            self.moved,
            self.part,
            self.joined,
            self.padded,
            self.convolution,
        ]


_COMPARED: dict[str, Any] = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}


def _logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _cut(random: Random, extent: int) -> slice:
    start = random.randint(0, extent - 1)
    return slice(start, random.randint(start + 1, extent), random.choice([1, 1, 2]))


def _made(area: str, seed: int, graph: Graph) -> Made:
    """Up to eight steps from three arguments; the last values are returned."""
    rank = 3 if isinstance(graph, Tosa) else 2
    shapes = [tuple(graph.extent() for _ in range(r)) for r in (rank, rank, 1)]
    arguments = [numbers(graph.random, shape, graph.ty) for shape in shapes]
    heads: list[str] = []
    for array in arguments:
        name = graph.name("a")
        graph.values[name] = array
        heads.append(f"{name}: {graph.of(array)}")
    for _ in range(graph.random.randint(2, 8)):
        graph.random.choice(graph.steps())()
    returned = [*graph.values][-graph.random.randint(1, 3) :]
    types = ", ".join(map(graph.type, returned))
    body = "\n".join(graph.lines)
    text = (
        f"func.func @f({', '.join(heads)}) -> ({types}) {{\n{body}\n"
        f"return {', '.join(returned)} : {types}\n}}"
    )
    answers = [graph.values[name] for name in returned]
    return Made(area, seed, text, arguments, answers=answers)


def stablehlo(seed: int) -> Made:
    return _made("stablehlo", seed, StableHlo(seed))


def tosa(seed: int) -> Made:
    return _made("tosa", seed, Tosa(seed))
