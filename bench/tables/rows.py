"""Reductions along rows and what is made of them."""

from __future__ import annotations

import numpy as np

from bench.case import Case
from bench.peers import numpy_peer, torch_peer
from bench.row import Limit, Work
from examples.catalogue import PROGRAMS

_SUM = PROGRAMS["row_sum"]

LINES = (
    Case.of(
        _SUM,
        _SUM.large,
        (
            numpy_peer(lambda a, s: np.sum(a, axis=1, out=s)),
            torch_peer(lambda torch: lambda a, s: torch.sum(a, 1, out=s)),
        ),
        limit=Limit.COPY,
        work=Work(_SUM.problem.work(_SUM.large), 4 * 2000 * 3000),
    ),
)
