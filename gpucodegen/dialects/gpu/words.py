"""Attributes ``#gpu.kind<word>`` that stand as a bare word in short forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.shared.combiners import GPU_KINDS
from gpucodegen.ir.attributes import OpaqueAttr, StringAttr


def word(kind: str, names: Sequence[str]) -> kinds.AttributeKind:
    """One of these words for ``#gpu.kind<word>``."""
    return kinds.keyword_of(f"gpu.{kind}<", names)


def modern(name: str, kind: str) -> Callable[[State], None]:
    """Today's spelling of ``#gpu<kind word>`` and of the strings of 2019."""

    def adapt(state: State) -> None:
        value = state.attributes.get(name)
        if value is None:
            return
        text = value.value if isinstance(value, StringAttr) else str(value)
        for prefix in (f"#gpu<{kind} ", f"#gpu.{kind}<"):
            text = text.removeprefix(prefix)
        state.attributes[name] = OpaqueAttr(f"#gpu.{kind}<{text.removesuffix('>')}>")

    return adapt


DIMENSION = word("dim", ("x", "y", "z"))
REDUCTION = word("all_reduce_op", GPU_KINDS)
MODE = word("shuffle_mode", ("xor", "up", "down", "idx"))
