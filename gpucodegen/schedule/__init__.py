"""Schedules: the steps that turn a function's loops into kernels, as values.

A schedule is printed, edited, parsed, proven and run again:

>>> from gpucodegen import schedule as s
>>> made = s.schedule(s.interchange("i", order=("j", "i")), s.vectorize())
>>> print(made)
schedule(
    interchange("i", order=("j", "i")),
    vectorize(),
)
>>> s.parse(str(made)) == made
True
"""

from __future__ import annotations

from gpucodegen.schedule.steps import (
    Schedule,
    Step,
    bind,
    distribute,
    fuse,
    improve_locality,
    interchange,
    map_kernel,
    normalize_loops,
    peel,
    pipeline,
    privatize,
    restructure,
    schedule,
    skew,
    split_index_set,
    split_reduction,
    stage,
    tile,
    time_tile,
    unroll,
    unroll_and_jam,
    vectorize,
)
from gpucodegen.schedule.text import parse, parse_all

__all__ = [
    "Schedule",
    "Step",
    "bind",
    "distribute",
    "fuse",
    "improve_locality",
    "interchange",
    "map_kernel",
    "normalize_loops",
    "parse",
    "parse_all",
    "peel",
    "pipeline",
    "privatize",
    "restructure",
    "schedule",
    "skew",
    "split_index_set",
    "split_reduction",
    "stage",
    "tile",
    "time_tile",
    "unroll",
    "unroll_and_jam",
    "vectorize",
]
