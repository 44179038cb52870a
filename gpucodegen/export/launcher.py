"""Calls of exported functions: checked as ever, then a variant that fits them runs.

Comes in: what a function says of its arguments, and the folders of its variants.  This
module travels with an exported package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpucodegen.calls.copies import on_copies
from gpucodegen.calls.overlaps import checked_apart
from gpucodegen.calls.signature import Signature
from gpucodegen.compiling.artifact import Artifact
from gpucodegen.compiling.runnable import Runnable
from gpucodegen.runtime.host.arguments import Known, alignment_of
from gpucodegen.runtime.host.engines import Engine
from gpucodegen.runtime.host.loader import load_program


@dataclass(frozen=True, slots=True)
class Variant:
    """A function as it was compiled for arguments of which so much is ``known``."""

    known: tuple[Known | None, ...]
    folder: Path
    artifact: Artifact

    def suits(self, values: Sequence[Any], strided: Sequence[int]) -> bool:
        """Whether these arguments are what it was compiled for.

        ``strided``: the places of arrays that are not row-major as their types say.
        """
        places = (n in strided for n in range(len(values)))
        return all(map(_fits, values, self.known, places))


def _fits(value: Any, known: Known | None, is_strided: bool = False) -> bool:
    """Whether an argument is all that is known of one.

    Where no strides are known they are row-major.

    >>> from gpucodegen.runtime.host.buffers import Buffer
    >>> a = Buffer.of(np.zeros((2, 3), np.float32), "f32")
    >>> _fits(a, None), _fits(a, Known((2, 3))), _fits(a, Known((3, 3)))
    (True, True, False)
    >>> _fits(a, None, True), _fits(a, Known((2, 3), (3, 1)), True)
    (False, True)
    """
    if known is None:
        return not is_strided
    shape, strides, alignment = known
    rank = len(shape or ())
    return (
        (strides is not None or not is_strided)
        and (shape is None or tuple(value.shape[:rank]) == shape)
        and (strides is None or tuple(value.strides[:rank]) == strides)
        and (not alignment or alignment_of(value.pointer, alignment) == alignment)
    )


@dataclass(slots=True)
class Exported:
    """A function that was exported: call it with arrays and numbers.

    ``variants``: the most special one first; the last one suits all arguments.
    ``refuses``: whether arrays that overlap are refused, if one of them is written.
    """

    signature: Signature
    variants: tuple[Variant, ...]
    engine: Callable[[], Engine]
    refuses: bool = True
    _loaded: dict[int, Runnable] = field(default_factory=dict[int, Runnable])

    def __call__(self, *arguments: Any) -> Any:
        """Check the arguments, run, return the results.

        Arrays of strides that no variant is for are copied.
        """
        values = self.signature.convert(arguments)
        strided = self.signature.strided(values)
        number = self._fitting(values, strided)
        copied = strided if number is None else ()
        runnable = self._load(len(self.variants) - 1 if number is None else number)
        written = runnable.artifact.written
        self.signature.refuse_read_only(values, written)
        if self.refuses:
            checked_apart(runnable, self.signature, values, copied)
        if copied:
            return on_copies(lambda held: (self(*held), written), arguments, copied)()
        return runnable.launcher(arguments, values)()

    def kernels(self) -> dict[str, str]:
        """The text of each kernel of the variant for all arguments."""
        found = _with_sources(self.variants[-1]).kernels
        return {spec.name: spec.source for spec in found}

    def _fitting(self, values: Sequence[Any], strided: Sequence[int]) -> int | None:
        """The first variant for these arguments; None: none keeps to their strides."""
        suiting = (
            n for n, one in enumerate(self.variants) if one.suits(values, strided)
        )
        return next(suiting, None)

    def _load(self, number: int) -> Runnable:
        if number not in self._loaded:
            artifact = _with_sources(self.variants[number])
            loaded = load_program(artifact, self.engine())
            host = loaded.functions[artifact.python_name]
            name = self.signature.function
            self._loaded[number] = Runnable(name, artifact, host, loaded.runtime)
        return self._loaded[number]


def _with_sources(variant: Variant) -> Artifact:
    """The artifact with the texts and the constants that lie beside it."""

    def text(name: str) -> str:
        return (variant.folder / name).read_text("utf-8")

    kernels = tuple(
        replace(k, source=text(k.source), wide=text(k.wide) if k.wide else "")
        for k in variant.artifact.kernels
    )
    contents = _contents(variant.folder / "constants.npz")
    constants = {
        name: replace(one, values=contents.get(name))
        for name, one in variant.artifact.constants.items()
    }
    host = text(variant.artifact.host_source)
    return replace(
        variant.artifact, host_source=host, kernels=kernels, constants=constants
    )


def _contents(file: Path) -> Mapping[str, Any]:
    if not file.exists():
        return {}
    with np.load(file, allow_pickle=False) as stored:
        return dict(stored)
