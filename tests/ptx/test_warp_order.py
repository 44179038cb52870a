"""Which accesses of a warp's lanes syncs of some of them order, against an oracle."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpucodegen import ptx
from tests.ptx.kernels import REGISTERS, entry, launch

LANES = 5
"""So many take part; the others of the warp read nothing."""
CELLS = 2
Step = tuple[str, int, int]
"""``read``, ``write`` or ``sync``; a bit for each lane, and a cell."""


def program(steps: list[Step]) -> str:
    """A kernel of one warp whose lane 0 has written all cells."""
    every = (1 << LANES) - 1
    lines = ["mov.u32 %r1, %tid.x; mov.u32 %r2, 7; mov.u32 %r9, s;"]
    written = [("write", 1, cell) for cell in range(CELLS)]
    for what, lanes, cell in [*written, ("sync", every, 0), *steps]:
        done = {
            "read": f"ld.shared.u32 %r3, [%r9+{4 * cell}]",
            "write": f"st.shared.u32 [%r9+{4 * cell}], %r2",
            "sync": f"bar.warp.sync {lanes}",
        }[what]
        lines.append(
            f"mov.u32 %r4, {lanes}; shr.u32 %r4, %r4, %r1; and.b32 %r4, %r4, 1;"
            f" setp.ne.u32 %p1, %r4, 0; @%p1 {done};"
        )
    text = entry("u64", "\n".join([*lines, "ret;"]))
    return text.replace(f"{{{REGISTERS}", f"{{.shared .align 4 .b8 s[8];{REGISTERS}")


@dataclass
class Oracle:
    """Vector clocks, and every access to each cell since its last write."""

    clocks: np.ndarray = field(default_factory=lambda: np.eye(LANES, dtype=int))
    writes: dict[int, tuple[int, int]] = field(
        default_factory=lambda: dict.fromkeys(range(CELLS), (0, 0))
    )
    reads: dict[int, list[tuple[int, int]]] = field(
        default_factory=lambda: {cell: [] for cell in range(CELLS)}
    )

    def races(self, step: Step) -> bool:
        """Whether a step races with an earlier one."""
        what, bits, cell = step
        lanes = [lane for lane in range(LANES) if bits >> lane & 1]
        if what == "sync":
            self.clocks[lanes] = self.clocks[lanes].max(0)
            self.clocks[lanes, lanes] += 1
            return False
        before = [self.writes[cell], *(self.reads[cell] if what == "write" else ())]
        if any(self._unknown(lane, *past) for lane in lanes for past in before):
            return True
        now = [(lane, int(self.clocks[lane, lane])) for lane in lanes]
        if what == "read":
            self.reads[cell] += now
        else:
            self.writes[cell], self.reads[cell] = now[0], []
        return False

    def _unknown(self, lane: int, other: int, time: int) -> bool:
        return lane != other and self.clocks[lane, other] < time


LANE = st.integers(0, LANES - 1)
SOME = st.integers(1, (1 << LANES) - 1)
CELL = st.integers(0, CELLS - 1)
STEPS = st.one_of(
    st.tuples(st.just("read"), SOME, CELL),
    st.tuples(st.just("write"), LANE.map(lambda lane: 1 << lane), CELL),
    st.tuples(st.just("sync"), SOME, st.just(0)),
    st.tuples(st.just("sync"), st.just((1 << LANES) - 1), st.just(0)),
)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(STEPS, min_size=3, max_size=14))
def test_syncs_of_some_lanes(steps: list[Step]) -> None:
    oracle = Oracle()
    is_racy = any(map(oracle.races, steps))
    expected = pytest.raises(ptx.Fault, match="race") if is_racy else nullcontext()
    with expected:
        launch(program(steps), 1, 32, np.zeros(CELLS, "i4"))


EVERY = (1 << LANES) - 1
READ_AGAIN: list[Step] = [
    ("read", EVERY, 0),
    ("sync", EVERY, 0),
    ("read", 1, 0),
    ("write", 1, 0),
]


def test_a_lane_reads_again_before_it_writes() -> None:
    """What the others read before the sync stays in the past."""
    launch(program(READ_AGAIN), 1, 32, np.zeros(CELLS, "i4"))
    without = [step for step in READ_AGAIN if step[0] != "sync"]
    with pytest.raises(ptx.Fault, match="race"):
        launch(program(without), 1, 32, np.zeros(CELLS, "i4"))
