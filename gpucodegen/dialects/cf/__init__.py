"""The cf dialect: branches between blocks."""

from __future__ import annotations

from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.operation import Operation


def case_values(op: Operation) -> tuple[int, ...]:
    """The numbers of a ``cf.switch``, one for each target but the default.

    >>> from gpucodegen.ir.operation import Label, Successor
    >>> case_values(Operation("cf.switch", successors=(Successor(Label("end")),)))
    ()
    """
    value = op.attributes.get("case_values")
    if not isinstance(value, DenseElementsAttr):
        return ()
    count = len(op.successors) - 1
    values = value.values * count if value.is_splat else value.values
    return tuple(int(str(v)) for v in values)
