"""Matrix and vector products with fused scaling, bias and activation."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Unpack

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory, is_turned, require_rank
from gpucodegen.kernels.calls import How, Kernel, Recipe, View
from gpucodegen.kernels.elements import F64, Element, element_of, wished
from gpucodegen.kernels.elementwise.functions import ACTIVATIONS
from gpucodegen.kernels.function_text import Text
from gpucodegen.kernels.products.texts import Contraction, Factor, Labels, placed
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.options import Precision
from gpucodegen.records import dataclass

MANY = 1 << 13
"""Elements of a left transpose above which a copy costs more than strided reads."""
NAME = "matmul"


def matmul(
    a: Any,
    b: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1,
    beta: float = 0,
    c: Any = None,
    bias: Any = None,
    activation: str | None = None,
    triangle: str | None = None,
    dtype: Any = None,
    out: Any = None,
    target: str = "auto",
    precision: Precision = "ieee",
    **how: Unpack[How],
) -> Any:
    """``activation(alpha * a @ b + beta * c + bias)`` of arrays of one dtype.

    ``a`` is (..., m, k) and ``b`` is (..., k, n), or their last two axes are swapped if
    they are transposed; leading axes are broadcast, and a vector is a row on the left,
    a column on the right, as in NumPy. ``c`` and ``bias`` broadcast to the result.
    ``activation``: relu, gelu, sigmoid, silu or tanh.  ``triangle``: "upper" or "lower"
    leaves zeros on the other side of the diagonal. Sums of floats of 16 bits and
    less are kept in f32 and rounded once, after the activation; those of integers wrap
    around in ``dtype``, by default that of the operands. ``precision`` lets a GPU round
    f32 operands for its tensor cores: "tf32" to 10 bits of fraction, "3xtf32" to about
    21; others, and CPUs, compute in f32. Errors: WrongDtype, WrongArgumentRank,
    ShapesDisagree, InvalidOption.

    Operands that are neither contiguous nor transposes of contiguous arrays are copied
    first, and so are small transposes on the left. The result is written to ``out`` if
    given, which must be contiguous.

    >>> import numpy as np
    >>> matmul(np.ones((2, 3), "f4"), np.ones((3, 4), "f4"))
    array([[3., 3., 3., 3.],
           [3., 3., 3., 3.]], dtype=float32)
    >>> matmul(np.ones((1, 3)), np.ones((4, 3)), transpose_b=True, alpha=-1,
    ...        bias=np.arange(4.0), activation="relu")
    array([[0., 0., 0., 0.]])
    """
    if c is None and bias is None and alpha == 1 and not beta:
        options = (
            transpose_a,
            transpose_b,
            False,
            False,
            activation,
            triangle,
            dtype,
            False,
            False,
        )
        return MATMUL((a, b), out, target, *options, precision=precision, **how)
    scales = [scale for scale, at in ((alpha, 1), (beta, 0)) if scale != at]
    if (c is None) != (beta == 0):
        hint = "Pass c with a beta that is not 0, or neither"
        raise errors.InvalidOption(name="beta", value=beta, hint=hint)
    more = tuple(array for array in (c, bias) if array is not None)
    has = c is not None, bias is not None
    return MATMUL(
        (a, b, *more),
        out,
        target,
        *(transpose_a, transpose_b, *has, activation, triangle, dtype),
        *(alpha != 1, beta != 0),
        numbers=[*map(float, scales)],
        precision=precision,
        **how,
    )


def matvec(
    a: Any, x: Any, *, out: Any = None, target: str = "auto", **how: Unpack[How]
) -> Any:
    """The products of matrices (..., m, n) and vectors (..., n), as ``np.matvec``.

    Leading axes, and the last one, are broadcast. Types are those of `matmul`.

    >>> import numpy as np
    >>> matvec(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    return MATVEC((a, x), out, target, "matvec", **how)


def vecdot(
    x: Any, y: Any, *, out: Any = None, target: str = "auto", **how: Unpack[How]
) -> Any:
    """The sums of products along the last axes; nothing is conjugated.

    >>> import numpy as np
    >>> vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    return VECDOT((x, y), out, target, "vecdot", **how)


@dataclass(frozen=True, slots=True)
class Matrix:
    """An operand: the view of its memory, and the shape and names of its axes."""

    view: View | None
    shape: tuple[int, ...]
    ends: str


def _swap(array: Memory) -> Memory:
    return array.swapaxes(-1, -2)


def _seen(array: Memory, ends: str, *, transposed: bool, least: int) -> Matrix:
    """An operand with last axes ``ends``; large transposes are read in place."""
    if array.ndim < 2:
        return Matrix(None, array.shape, ends)
    matrix = _swap(array) if transposed else array
    turned = is_turned(matrix) and prod(array.shape) >= least
    shape = matrix.shape
    if turned:
        shape, ends = (*shape[:-2], shape[-1], shape[-2]), ends[::-1]
    view = _swap if turned != transposed else None
    return Matrix(view, shape, ends)


def one_element(
    arrays: Sequence[Memory], names: Sequence[str], function: str
) -> Element:
    """The common element of all arrays, or a refusal."""
    first, *rest = arrays
    element = element_of(first.dtype, function=function, argument=names[0])
    for array, name in zip(rest, names[1:], strict=False):
        if array.dtype != first.dtype:
            raise errors.WrongDtype(
                function=function,
                argument=name,
                expected=first.dtype,
                actual=array.dtype,
            )
    return element


def _prepare(
    arrays: tuple[Memory, ...],
    transpose_a: bool,
    transpose_b: bool,
    has_c: bool,
    has_bias: bool,
    activation: str | None,
    triangle: str | None,
    dtype: Any,
    scaled: bool,
    added: bool,
) -> Recipe:
    a, b, *rest = arrays
    names = [n for n, there in (("c", has_c), ("bias", has_bias)) if there]
    element = one_element(arrays, ["a", "b", *names], NAME)
    for array, name in ((a, "a"), (b, "b")):
        require_rank(array, range(1, 33), function=NAME, argument=name)
    left = _seen(a, "mk" if a.ndim > 1 else "k", transposed=transpose_a, least=MANY)
    right = _seen(b, "kn" if b.ndim > 1 else "k", transposed=transpose_b, least=0)
    result = element if dtype is None else wished(dtype)
    labels, sizes = labelled([left, right], ["a", "b"], NAME)
    kept = *sizes.batch, *("m" * (a.ndim > 1)), *("n" * (b.ndim > 1))
    shape = tuple(sizes.of[label] for label in kept)
    text = Text(name=NAME)
    made = Contraction(text)
    factors = [
        made.factor(name, element, axes)
        for name, axes in zip(("a", "b"), labels, strict=True)
    ]
    more = [
        made.factor(name, element, spread(array.shape, shape, kept, NAME, name))
        for name, array in zip(names, rest, strict=True)
    ]
    if triangle is not None and (a.ndim < 2 or b.ndim < 2):
        hint = "Pass matrices, or no triangle"
        raise errors.InvalidOption(name="triangle", value=triangle, hint=hint)
    after = Epilogue(scaled, added, has_c, has_bias, activation, triangle)
    after.write(made, factors, more, result, kept)
    return Recipe(text, shape, result.numpy, views=_views([left, right], len(rest)))


def _views(matrices: Sequence[Matrix], more: int) -> Sequence[View | None]:
    views = [matrix.view for matrix in matrices]
    return [*views, *[None] * more] if any(views) else ()


@dataclass(frozen=True, slots=True)
class Sizes:
    """Extents by axis name, and the names of broadcast axes."""

    of: dict[str, int]
    batch: Labels


def labelled(
    matrices: Sequence[Matrix], names: Sequence[str], function: str
) -> tuple[list[Labels], Sizes]:
    """Names of all axes; leading axes are named by position from the end."""
    sizes: dict[str, int] = {}
    batch = max(len(m.shape) - len(m.ends) for m in matrices)
    before = tuple(f"b{n}" for n in range(batch, 0, -1))
    every = [(*before[batch - len(m.shape) + len(m.ends) :], *m.ends) for m in matrices]
    for matrix, labels in zip(matrices, every, strict=True):
        for label, extent in zip(labels, matrix.shape, strict=True):
            old = sizes.setdefault(label, extent)
            broadcasts = label in before and 1 in {old, extent}
            if old != extent and not broadcasts:
                raise disagree(function, names, [m.shape for m in matrices], label)
            sizes[label] = extent if old == 1 else old
    named = [
        tuple(
            "" if label in before and extent != sizes[label] else label
            for label, extent in zip(labels, matrix.shape, strict=True)
        )
        for matrix, labels in zip(matrices, every, strict=True)
    ]
    return named, Sizes(sizes, before)


def disagree(
    function: str, names: Sequence[str], shapes: Sequence[Any], label: str
) -> errors.ShapesDisagree:
    """The refusal of operands whose shapes disagree."""
    each = (f"{n} of shape {tuple(s)}" for n, s in zip(names, shapes, strict=True))
    axis = label if len(label) == 1 else "before the last ones"
    problem = f"{function} of {', '.join(each)}: another extent of axis {axis}"
    return errors.ShapesDisagree(problem=problem)


def spread(
    shape: tuple[int, ...],
    full: tuple[int, ...],
    labels: Sequence[str],
    function: str,
    name: str,
) -> Labels:
    """The axis names of an array that is broadcast to a shape."""
    skipped = len(full) - len(shape)
    pairs = [*zip(shape, full[max(skipped, 0) :], strict=False)]
    if skipped < 0 or any(have not in {1, want} for have, want in pairs):
        problem = f"{function}: {name} of shape {shape} does not broadcast to {full}"
        raise errors.ShapesDisagree(problem=problem)
    return tuple(
        label if have == want else ""
        for (have, want), label in zip(pairs, labels[skipped:], strict=True)
    )


@dataclass(frozen=True, slots=True)
class Epilogue:
    """The epilogue of a product: alpha, beta, c, bias, activation, triangle."""

    scaled: bool = False
    added: bool = False
    has_c: bool = False
    has_bias: bool = False
    activation: str | None = None
    triangle: str | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown activation or triangle."""
        allowed = {"activation": [*ACTIVATIONS], "triangle": ["upper", "lower"]}
        for name, words in allowed.items():
            value = getattr(self, name)
            if value is not None and value not in words:
                hint = f"Pass {', '.join(words)} or None"
                raise errors.InvalidOption(name=name, value=value, hint=hint)

    def write(
        self,
        made: Contraction,
        factors: Sequence[Factor],
        more: Sequence[Factor],
        result: Element,
        kept: Labels,
    ) -> None:
        """Write the sums, directly to the result if the epilogue is empty."""
        text, summed = made.text, result.summed
        numbers = self.numbers(text)
        place = Factor(text.array("out", result, len(kept)), kept)
        plain = self == Epilogue() and result.mlir == summed.mlir
        sums = place if plain else made.temporary(summed, kept)
        made.contract(factors, sums)
        if not plain:
            self.apply(made, sums, more, place, numbers)

    def numbers(self, text: Text) -> tuple[Value | None, Value | None]:
        """The arguments alpha and beta, if present."""
        alpha = text.number("alpha", F64) if self.scaled else None
        return alpha, text.number("beta", F64) if self.added else None

    def apply(
        self,
        made: Contraction,
        sums: Factor,
        more: Sequence[Factor],
        place: Factor,
        numbers: tuple[Value | None, Value | None] = (None, None),
        zeros: Sequence[Factor] = (),
    ) -> None:
        """Write finished sums to ``place``, and those without terms to ``zeros``."""
        text = made.text
        zero = text.constant(0, place.memref.element.summed) if zeros else None

        def body(value: Value, *others: Value) -> Value:
            made = self._finished(text, value, [*others], *numbers)
            return made if self.triangle is None else self._part(text, sums, made)

        def empty(_: Value, *others: Value) -> Value:
            assert zero is not None
            return self._finished(text, zero, [*others], None, None)

        made.finish(sums, more, place, body, [(each, empty) for each in zeros])

    def _part(self, text: Text, sums: Factor, value: Value) -> Value:
        """The value on the kept side of the diagonal, else zero."""
        assert self.triangle is not None
        is_kept = text.in_triangle(self.triangle, *map(sums.labels.index, "mn"))
        return text.select(is_kept, value, text.constant(0, value.element))

    def apply_to_zeros(
        self,
        made: Contraction,
        more: Sequence[Factor],
        *places: Factor,
        shape: Factor | None = None,
    ) -> None:
        """Write the result of sums without terms.

        ``shape``: tells the extents of axes that are not swept over whole.
        """
        text, first = made.text, places[0]
        loops = [label for label in first.labels if label]
        inputs = [placed(f, loops) for f in (*more, *((shape,) if shape else ()))]
        zero = text.constant(0, first.memref.element.summed)

        def body(*given: Value) -> list[Value]:
            made = self._finished(text, zero, [*given[: len(more)]], None, None)
            return [made] * len(places)

        results = [placed(place, loops) for place in places]
        text.generic("p" * len(loops), inputs, results, body)

    def _finished(
        self,
        text: Text,
        value: Value,
        others: list[Value],
        alpha: Value | None,
        beta: Value | None,
    ) -> Value:
        element = value.element
        if alpha is not None:
            value = text.binary("mul", value, text.cast(alpha, element))
        if beta is not None:
            c = text.cast(others.pop(0), element)
            scaled = text.binary("mul", c, text.cast(beta, element))
            value = text.binary("add", value, scaled)
        for other in others:
            value = text.binary("add", value, text.cast(other, element))
        if self.activation is None:
            return value
        return ACTIVATIONS[self.activation](text, element, value)


def _rows(arrays: tuple[Memory, ...], name: str) -> Recipe:
    """Products with vectors: ``matvec`` or row-wise ``vecdot``."""
    a, x = arrays
    ends = {"matvec": ("mk", "k"), "vecdot": ("k", "k")}[name]
    words = ("a", "x") if name == "matvec" else ("x", "y")
    element = one_element(arrays, words, name)
    for array, word, end in zip(arrays, words, ends, strict=True):
        require_rank(array, range(len(end), 33), function=name, argument=word)
    matrices = [Matrix(None, x.shape, ends[1])]
    first = _seen(a, ends[0], transposed=False, least=0) if name == "matvec" else None
    matrices.insert(0, first or Matrix(None, a.shape, ends[0]))
    labels, sizes = labelled(matrices, words, name)
    kept = *sizes.batch, *ends[0][:-1]
    text = Text(name=name)
    made = Contraction(text)
    pairs = zip(words, labels, strict=True)
    factors = [made.factor(word, element, axes) for word, axes in pairs]
    Epilogue().write(made, factors, (), element, kept)
    shape = tuple(sizes.of[label] for label in kept)
    return Recipe(text, shape, element.numpy, views=_views(matrices, 0))


MATMUL = Kernel(NAME, ("a", "b", "c or bias", "bias"), _prepare)
MATVEC = Kernel("matvec", ("a", "x"), _rows)
VECDOT = Kernel("vecdot", ("x", "y"), _rows)
