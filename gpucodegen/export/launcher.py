"""Calls of exported functions: checks arguments and selects a matching variant.

Input: a function's signature, and the folders of its variants. This module is copied
into exported packages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpucodegen.calls.copies import on_copies
from gpucodegen.calls.overlaps import checked_apart
from gpucodegen.calls.signature import Signature
from gpucodegen.compiling.artifact import Artifact
from gpucodegen.compiling.runnable import Runnable
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import Known, alignment_of
from gpucodegen.runtime.host.engines import Engine
from gpucodegen.runtime.host.loader import load_program


@dataclass(frozen=True, slots=True)
class Variant:
    """A function as compiled for arguments with the ``known`` facts."""

    known: tuple[Known | None, ...]
    folder: Path
    artifact: Artifact

    def suits(self, values: Sequence[Any], strided: Sequence[int]) -> bool:
        """Whether these arguments have the facts that it was compiled for.

        ``strided``: positions of arrays that are not row-major although their types
        are.
        """
        places = (n in strided for n in range(len(values)))
        return all(map(_fits, values, self.known, places))


def _fits(value: Any, known: Known | None, is_strided: bool = False) -> bool:
    """Whether an argument has all the known facts.

    Without known strides it must be row-major.

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
    """An exported function: call it with arrays and numbers.

    ``variants``: most specific first; the last one accepts all arguments. ``refuses``:
    whether overlapping arrays are refused, if one of them is written.
    """

    signature: Signature
    variants: tuple[Variant, ...]
    engine: Callable[[], Engine]
    refuses: bool = True
    _loaded: dict[int, Runnable] = field(default_factory=dict[int, Runnable])

    def __call__(self, *arguments: Any) -> Any:
        """Check the arguments, run, return the results.

        Arrays whose strides no variant supports are copied.
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
        """The text of each kernel of the generic variant."""
        found = _with_sources(self.variants[-1]).kernels
        return {spec.name: spec.source for spec in found}

    def _fitting(self, values: Sequence[Any], strided: Sequence[int]) -> int | None:
        """The first variant for these arguments; None if none has their strides."""
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
    """The artifact with its texts and constants read from the folder."""

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
