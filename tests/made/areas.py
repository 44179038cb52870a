"""The areas, and the program of each seed."""

from __future__ import annotations

from collections.abc import Callable

from tests.made import (
    chains,
    control,
    destinations,
    dtypes,
    graphs,
    raised,
    rows,
    tensors,
    vectors,
    views,
)
from tests.made.program import Made

AREAS: dict[str, Callable[[int], Made]] = {
    "tensors": tensors.made,
    "chains": chains.made,
    "control": control.made,
    "vectors": vectors.made,
    "views": views.made,
    "dtypes": dtypes.made,
    "destinations": destinations.made,
    "stablehlo": graphs.stablehlo,
    "tosa": graphs.tosa,
    "raised": raised.raised,
    "staged": raised.staged,
    "rows": rows.made,
}
