"""What the accesses of a warp cost, from the addresses that its threads compute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np

from gpucodegen.ptx.analysis.states import Registers, States
from gpucodegen.ptx.analysis.values import Known
from gpucodegen.ptx.execution.counting import cost
from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.operands import address_parts
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import WARP, Array

SECTOR = 32


@dataclass(frozen=True, slots=True)
class Request:
    """One access as its text states it, for an average warp of a block.

    ``least`` and ``most``: sectors of 32 bytes in global memory, wavefronts in shared
    memory; they differ where the text leaves the alignment open.  None where it does
    not tell the addresses.
    """

    site: Site
    least: float | None
    most: float | None


def requests(states: States) -> Iterator[Request]:
    """A kernel's accesses to global and shared memory, in the order of its text."""
    program = states.setting.program
    sites: dict[int, list[Site]] = {}
    for constant in program.operands.constants.values():
        if isinstance(constant, Site) and constant.space in ("global", "shared"):
            sites.setdefault(constant.index, []).append(constant)
    for number in sorted(states.at):
        for x, registers in states.facts(number):
            for site in sites.get(x.index, ()):
                active = states.active(number, x, registers)
                yield _request(states, site, x, registers, active)


def _request(
    states: States, site: Site, x: Instruction, registers: Registers, active: Array
) -> Request:
    fact = _address(states, site, x, registers)
    if fact is None or not active.any():
        return Request(site, None, None)
    own = np.broadcast_to(fact.own, len(active)) + site.offset
    rows = np.full(-(-len(active) // WARP) * WARP, -1, np.int64)
    rows[: len(active)] = np.where(active, own - (own.min() & -128), -1)
    rows = rows.reshape(-1, WARP)
    rows = rows[(rows >= 0).any(1)]
    if site.space == "shared":
        if fact.step % 4:
            return Request(site, None, None)
        found = [cost.wavefronts(rows, site.width)]
    else:
        step = gcd(fact.step, SECTOR) if fact.step else SECTOR
        step = max(step, site.width)
        shifts = range(0, SECTOR, step)
        found = [cost.sectors(np.where(rows < 0, -1, rows + by)) for by in shifts]
    return Request(site, min(found) / len(rows), max(found) / len(rows))


def _address(
    states: States, site: Site, x: Instruction, registers: Registers
) -> Known | None:
    """The register or variable of the operand in brackets; the site has its offset.

    None of a box of a tensor map, whose place is coordinates.
    """
    places = [text for text in x.operands if text.startswith("[")]
    plain = [text for text in places if "{" not in text]
    if len(places) > 1:  # a copy: its first plain place is in shared memory
        places = plain[:1] if site.space == "shared" else places[1:2]
    places = [text for text in places if text in plain]
    return states.operand(address_parts(places[0])[0], registers) if places else None
