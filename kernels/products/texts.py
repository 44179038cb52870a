"""MLIR text of products: sums over labelled axes, with an epilogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from gpucodegen.kernels.elements import Element
from gpucodegen.kernels.function_text import Memref, Operand, Text
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.records import dataclass

Label = str
"""The name of an axis; the empty one of an axis of extent 1, which is broadcast."""
Labels = tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Factor:
    """A buffer and the names of its axes.

    ``steps``: where an axis is not swept over whole, its step and its first index; that
    of an axis without a label is its only index.
    """

    memref: Memref
    labels: Labels
    steps: Mapping[Label, tuple[int, int]] = field(
        default_factory=dict[Label, "tuple[int, int]"]
    )


@dataclass(slots=True)
class Contraction:
    """The text of a contraction; ``extents`` of the axes by name."""

    text: Text
    extents: dict[Label, str] = field(default_factory=dict[Label, str])

    def factor(self, name: str, element: Element, labels: Labels) -> Factor:
        """A factor over an argument of the function."""
        memref = self.text.array(name, element, len(labels))
        for axis, label in enumerate(labels):
            if label and label not in self.extents:
                self.extents[label] = self.text.dim(memref, axis)
        return Factor(memref, labels)

    def temporary(self, element: Element, labels: Labels) -> Factor:
        extents = [self.extents[label] for label in labels]
        return Factor(self.text.alloc(element, extents), labels)

    def contract(self, factors: Sequence[Factor], into: Factor) -> None:
        """Sum products over the axes that ``into`` lacks."""
        text, element = self.text, into.memref.element
        kept = [label for label in into.labels if label]
        every = dict.fromkeys(label for f in factors for label in f.labels if label)
        loops = [*kept, *(label for label in every if label not in kept)]
        has_sum = len(loops) > len(kept)
        if has_sum:
            text.fill(into.memref, text.constant(0, element))

        def body(*values: Value) -> Value:
            *given, old = values
            product = text.total("mul", [text.cast(v, element) for v in given])
            return text.binary("add", old, product) if has_sum else product

        iterators = "p" * len(kept) + "r" * (len(loops) - len(kept))
        *inputs, result = (placed(f, loops) for f in (*factors, into))
        text.generic(iterators, inputs, [result], body)

    def finish(
        self,
        sums: Factor,
        more: Sequence[Factor],
        into: Factor,
        body: Callable[..., Value],
        others: Sequence[tuple[Factor, Callable[..., Value]]] = (),
    ) -> None:
        """Write ``body`` of each sum and of further, broadcast arrays to ``into``.

        ``others``: places that are written, too, and what of the same values.
        """
        loops, written = [*sums.labels], [(into, body), *others]
        inputs = [placed(factor, loops) for factor in (sums, *more)]
        results = [placed(factor, loops) for factor, _ in written]

        def without_old(*values: Value) -> list[Value]:
            return [function(*values[: len(inputs)]) for _, function in written]

        self.text.generic("p" * len(loops), inputs, results, without_old)


def placed(factor: Factor, loops: Sequence[Label]) -> Operand:
    """The indexing of a buffer in a nest over these axes."""
    at = [
        stepped(f"d{loops.index(label)}", *factor.steps.get(label, (1, 0)))
        if label
        else str(factor.steps.get(label, (1, 0))[1])
        for label in factor.labels
    ]
    return Operand(factor.memref, at)


def stepped(index: str, step: int, first: int) -> str:
    """An affine expression of an index.

    >>> stepped("d0", 1, 0), stepped("d1", 2, 3)
    ('d0', 'd1 * 2 + 3')
    """
    return index if (step, first) == (1, 0) else f"{index} * {step} + {first}"
