"""Convolutions of whole layers, memory for the results included on both sides."""

from __future__ import annotations

from bench.case import Case
from bench.tables.examples import convolution
from examples.catalogue import PROGRAMS

CONVOLUTIONS = tuple(p for name, p in PROGRAMS.items() if name.startswith("conv_2d"))
LINES = tuple(Case.of(p, p.large, convolution(p)) for p in CONVOLUTIONS)
