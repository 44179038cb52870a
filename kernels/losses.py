"""Losses, as those of ``torch.nn.functional``: of pairs of elements, classes, rows.

``reduction`` is "mean", "sum", or "none" for one loss per element, label or row.
Arrays of floats have one dtype; those of 16 bits and less are computed in f32 and
rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import nan
from typing import Any, Unpack

import numpy as np

from gpucodegen import errors
from gpucodegen.kernels import row_text
from gpucodegen.kernels.arrays import (
    Memory,
    require_positive,
    require_rank,
    require_shape,
)
from gpucodegen.kernels.calls import How, Kernel, Recipe, described
from gpucodegen.kernels.elements import I32, I64, Element, element_of
from gpucodegen.kernels.elementwise.expressions import Typed, Writer, parsed
from gpucodegen.kernels.function_text import Operand, Text
from gpucodegen.kernels.products.matmul import one_element
from gpucodegen.kernels.row_text import OLD, Rows
from gpucodegen.kernels.scalar_text import Value

REDUCTIONS = ("mean", "sum", "none")
FORMULAS = {
    "hinge_loss": "maximum(1 - x * y, 0)",
    "huber_loss": "where(abs(x - y) <= a, (x - y)**2 / 2, a * (abs(x - y) - a / 2))",
    "kl_div": "where(y > 0, y * (log(y) - x), 0)",
    "l1_loss": "abs(x - y)",
    "mse_loss": "(x - y)**2",
    "smooth_l1_loss": "where(abs(x - y) < a, (x - y)**2 / (2*a), abs(x - y) - a / 2)",
}
"""The loss of an element x and its target y; ``a`` is a parameter."""
LOG_TARGET = "exp(y) * (y - x)"
"""``kl_div`` of logarithms of targets."""


def _pairwise(name: str):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any,
        y: Any,
        reduction: str = "mean",
        *,
        out: Any = None,
        target: str = "auto",
        **how: Unpack[How],
    ) -> Any:
        options = FORMULAS[name], 0.0, reduction
        return PAIRS[name]((x, y), out, target, *options, **how)

    return described(call)


@_pairwise("l1_loss")
def l1_loss() -> None:
    """``abs(x - y)`` of arrays of one shape.

    >>> import numpy as np
    >>> l1_loss(np.array([1.0, 5.0]), np.array([2.0, 2.0]))
    array(2.)
    """


@_pairwise("mse_loss")
def mse_loss() -> None:
    """``(x - y)**2`` of arrays of one shape.

    >>> import numpy as np
    >>> mse_loss(np.array([1.0, 5.0]), np.array([2.0, 2.0]), "none")
    array([1., 9.])
    """


@_pairwise("hinge_loss")
def hinge_loss() -> None:
    """``max(1 - x * y, 0)`` of arrays of one shape; y is 1 or -1.

    >>> import numpy as np
    >>> hinge_loss(np.array([0.5, -3.0]), np.array([1.0, -1.0]), "sum")
    array(0.5)
    """


def huber_loss(
    x: Any,
    y: Any,
    reduction: str = "mean",
    delta: float = 1.0,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """With d = abs(x - y): ``d**2 / 2`` up to ``delta``, then ``delta*(d - delta/2)``.

    >>> import numpy as np
    >>> huber_loss(np.array([0.0, 5.0]), np.array([1.0, 0.0]), "none", 2.0)
    array([0.5, 8. ])
    """
    options = FORMULAS["huber_loss"], require_positive("delta", delta), reduction
    return PAIRS["huber_loss"]((x, y), out, target, *options, **how)


def smooth_l1_loss(
    x: Any,
    y: Any,
    reduction: str = "mean",
    beta: float = 1.0,
    *,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """With d = abs(x - y): ``d**2 / (2*beta)`` below ``beta``, then ``d - beta/2``.

    >>> import numpy as np
    >>> smooth_l1_loss(np.array([0.0, 5.0]), np.array([1.0, 0.0]), "none", 2.0)
    array([0.25, 4.  ])
    """
    options = FORMULAS["smooth_l1_loss"], require_positive("beta", beta), reduction
    return PAIRS["smooth_l1_loss"]((x, y), out, target, *options, **how)


def kl_div(
    x: Any,
    y: Any,
    reduction: str = "mean",
    *,
    log_target: bool = False,
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """``y * (log(y) - x)`` of logarithms x, and 0 where y is.

    ``log_target``: y are logarithms, too.  ``reduction`` may be "batchmean", the sum
    over the first extent.

    >>> import numpy as np
    >>> x, y = np.log([[0.5, 0.5]]), np.array([[1.0, 0.0]])
    >>> round(float(kl_div(x, y, "batchmean")), 4)
    0.6931
    """
    formula = LOG_TARGET if log_target else FORMULAS["kl_div"]
    return PAIRS["kl_div"]((x, y), out, target, formula, 0.0, reduction, **how)


def _of_classes(name: str):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any,
        labels: Any,
        reduction: str = "mean",
        *,
        ignore_index: int = -100,
        out: Any = None,
        target: str = "auto",
        **how: Unpack[How],
    ) -> Any:
        options = reduction, int(ignore_index)
        return CLASSES[name]((x, labels), out, target, *options, **how)

    return described(call)


@_of_classes("cross_entropy")
def cross_entropy() -> None:
    """The negative logarithms of `softmax` over axis 1, at the classes of labels.

    ``x`` is (n, classes, ...), ``labels`` are integers (n, ...).  Those that are
    ``ignore_index`` have no loss, and a mean does not count them; one that is no class
    makes the loss NaN.

    >>> import numpy as np
    >>> round(float(cross_entropy(np.zeros((2, 2)), np.array([0, 1]))), 4)
    0.6931
    """


@_of_classes("nll_loss")
def nll_loss() -> None:
    """``-x`` of logarithms over axis 1, at the classes of labels, as `cross_entropy`.

    >>> import numpy as np
    >>> nll_loss(np.array([[-1.0, -2.0], [-3.0, -4.0]]), np.array([0, 1]))
    array(2.5)
    """


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    *,
    reduction: str = "mean",
    out: Any = None,
    target: str = "auto",
    **how: Unpack[How],
) -> Any:
    """``max(d(anchor, positive) - d(anchor, negative) + margin, 0)`` of rows.

    ``d(a, b)`` is the p-norm of ``a - b + eps`` along the last axis.

    >>> import numpy as np
    >>> a, b, c = np.zeros((1, 4)), np.ones((1, 4)), np.full((1, 4), 1.25)
    >>> triplet_margin_loss(a, b, c, eps=0.0)
    array(0.5)
    """
    operands = anchor, positive, negative
    options = float(margin), require_positive("p", p), float(eps), reduction
    return TRIPLET(operands, out, target, *options, **how)


def _require(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        hint = f"Pass {errors.one_of([*allowed])}"
        raise errors.InvalidOption(name=name, value=value, hint=hint)


Loss = Callable[..., Value]
"""Of the values of some operands at a point."""


def _written(
    text: Text,
    inputs: Sequence[Operand],
    shape: tuple[int, ...],
    groups: Sequence[Sequence[int]],
    element: Element,
    loss: Loss,
    reduction: str,
    count: Value | Loss | None,
) -> Recipe:
    """Write all losses, or their sum divided by ``count``.

    ``shape``: that of all losses, whose axes are merged in ``groups``, one for each
    loop.  ``count``: a number, or a function of the operands whose sum it is.
    """
    if reduction == "none":
        out = text.collapsed(text.array("out", element, len(shape)), groups)
        place = Operand(out, [f"d{n}" for n in range(len(groups))])
        text.generic("p" * len(groups), inputs, [place], lambda *v: loss(*v[:OLD]))
        return Recipe(text, shape, element.numpy)
    computed = element.computed
    out = Operand(text.array("out", element, 0), [])
    functions = [loss, *([count] if callable(count) else [])]
    totals = [Operand(text.alloc(computed, []), []) for _ in functions]
    for total in totals:
        text.fill(total.memref, text.constant(0, computed))

    def add(*values: Value) -> list[Value]:
        given, sums = values[: len(inputs)], values[len(inputs) :]
        terms = [function(*given) for function in functions]
        pairs = zip(sums, terms, strict=True)
        return [text.binary("add", total, term) for total, term in pairs]

    text.generic("r" * len(groups), inputs, totals, add)

    def end(total: Value, *others: Value) -> Value:
        by = others[0] if callable(count) else count
        return total if by is None else text.binary("div", total, by)

    text.generic("", totals, [out], end)
    return Recipe(text, (), element.numpy)


def _prepare_pairs(
    arrays: tuple[Memory, ...],
    formula: str,
    parameter: float,
    reduction: str,
    *,
    name: str,
) -> Recipe:
    x, y = arrays
    more = ("batchmean",) if name == "kl_div" else ()
    _require("reduction", reduction, (*REDUCTIONS, *more))
    element = one_element(arrays, ["x", "y"], name)
    element_of(x.dtype, function=name, argument="x", kinds="f")
    require_rank(x, range(1, 33), function=name, argument="x")
    require_shape(y, x.shape, function=name, argument="y")
    text, whole = Text(name=name), [[*range(x.ndim)]]
    given = [text.array(n, element, x.ndim) for n in ("x", "y")]
    inputs = [Operand(text.collapsed(each, whole), ["d0"]) for each in given]
    example = np.empty(0, element.computed.numpy)

    def loss(x: Value, y: Value) -> Value:
        known = {"x": Typed(x, example), "y": Typed(y, example)}
        known["a"] = Typed(None, parameter)
        made = Writer(text, formula, known).value(parsed(formula)).value
        assert made is not None
        return made

    counted = {"mean": [*range(x.ndim)], "batchmean": [0]}.get(reduction)
    count = counted and text.extent(given[0], counted, element.computed)
    return _written(text, inputs, x.shape, whole, element, loss, reduction, count)


def _prepare_classes(
    arrays: tuple[Memory, ...], reduction: str, ignored: int, *, name: str
) -> Recipe:
    x, labels = arrays
    _require("reduction", reduction, REDUCTIONS)
    element = element_of(x.dtype, function=name, argument="x", kinds="f")
    integers = element_of(labels.dtype, function=name, argument="labels", kinds="iu")
    require_rank(x, range(2, 33), function=name, argument="x")
    shape = (x.shape[0], *x.shape[2:])
    require_shape(labels, shape, function=name, argument="labels")
    text = Text(name=name)
    rows = Rows.of(text, element, x.shape, 1)
    groups = [[0], [*range(1, len(shape))]][: len(rows.kept)]
    around = text.collapsed(text.array("labels", integers, len(shape)), groups)
    label = Operand(around, rows.kept)
    zero = text.constant(0, rows.element)

    def pick(x: Value, label: Value, total: Value) -> Value:
        at = text.position(rows.along, I32)  # labels of more bits make the loss NaN
        is_it = text.compared("eq", text.cast(label, I32), at)
        return text.binary("add", total, text.select(is_it, x, zero))

    parts = [*(row_text.log_sums(rows) if name == "cross_entropy" else ()), label]
    parts.append(rows.reduce(0, pick, label))
    loops = {at: f"d{n}" for n, at in enumerate(rows.kept)}
    inputs = [Operand(o.memref, [loops[at] for at in o.at]) for o in parts]
    classes = text.at_index_once(text.dim(rows.x, rows.along))

    def loss(*values: Value) -> Value:
        *sums, label, picked = values
        at = text.cast(label, I64)
        total = row_text.log_sum(text, *sums) if sums else zero
        found = text.binary("sub", total, picked)
        none = text.constant(nan, rows.element)
        for is_known in (
            text.compared("lt", at, classes),
            text.compared("ge", at, text.constant(0, I64)),
        ):
            found = text.select(is_known, found, none)
        return text.select(is_ignored(at), zero, found)

    def is_ignored(at: Value) -> Value:
        return text.compared("eq", at, text.constant(ignored, I64))

    def counts(*values: Value) -> Value:
        at = text.cast(values[-2], I64)
        return text.select(is_ignored(at), zero, text.constant(1, rows.element))

    count = counts if reduction == "mean" else None
    return _written(text, inputs, shape, groups, element, loss, reduction, count)


def _prepare_triplets(
    arrays: tuple[Memory, ...],
    margin: float,
    p: float,
    eps: float,
    reduction: str,
    *,
    name: str,
) -> Recipe:
    anchor, *others = arrays
    _require("reduction", reduction, REDUCTIONS)
    names = ["anchor", "positive", "negative"]
    element = one_element(arrays, names, name)
    element_of(anchor.dtype, function=name, argument=names[0], kinds="f")
    require_rank(anchor, range(2, 33), function=name, argument=names[0])
    for array, argument in zip(others, names[1:], strict=True):
        require_shape(array, anchor.shape, function=name, argument=argument)
    text, rank = Text(name=name), anchor.ndim
    computed = element.computed
    groups = [[*range(rank - 1)], [rank - 1]]
    first, *seconds = (
        text.collapsed(text.array(n, element, rank), groups) for n in names
    )
    rows = Rows(text, first, 1, computed)

    def far(x: Value, other: Value, total: Value) -> Value:
        apart = text.binary("sub", x, other)
        apart = text.binary("add", apart, text.constant(eps, computed))
        return row_text.power_sum(text, total, apart, p)

    inputs = [
        Operand(rows.reduce(0, far, rows.whole(each)).memref, ["d0"])
        for each in seconds
    ]

    def loss(near: Value, away: Value) -> Value:
        near, away = (row_text.root(text, each, p) for each in (near, away))
        more = text.binary("sub", near, away)
        more = text.binary("add", more, text.constant(margin, computed))
        return text.binary("max", more, text.constant(0, computed))

    count = text.extent(first, [0], computed) if reduction == "mean" else None
    shape, groups = anchor.shape[:-1], groups[:1]
    return _written(text, inputs, shape, groups, element, loss, reduction, count)


PAIRS = {
    name: Kernel(name, ("x", "y"), partial(_prepare_pairs, name=name))
    for name in FORMULAS
}
CLASSES = {
    name: Kernel(name, ("x", "labels"), partial(_prepare_classes, name=name))
    for name in ("cross_entropy", "nll_loss")
}
TRIPLET = Kernel(
    "triplet_margin_loss",
    ("anchor", "positive", "negative"),
    partial(_prepare_triplets, name="triplet_margin_loss"),
)
