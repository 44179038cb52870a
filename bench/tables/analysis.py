"""How long the analysis of a kernel takes; the peer is the time it may take."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import gpucodegen as gcg
from bench.harness import Times, race
from bench.row import OURS, Row, Settings
from examples.catalogue import Program
from examples.polybench.catalogue import KERNELS
from gpucodegen import errors

BUDGET = Times(0.1, 0.1)
"""Seconds that the analysis of a function may typically take."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """``gcg.analyze`` of one kernel."""

    kernel: Program

    @property
    def name(self) -> str:
        """The kernel's own."""
        return self.kernel.name

    def measure(self, settings: Settings) -> Row:
        """Repeat the analysis of a parsed module."""
        module = gcg.parse(self.kernel.text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.CodegenWarning)
            call = partial(gcg.analyze, module)
            budget = settings.budget / 4
            (ours,) = race(call, clock=settings.clock, budget=budget, least=3)
        return Row(self.name, {OURS: ours, "budget": BUDGET})


LINES = tuple(map(Analysis, KERNELS.values()))
