"""How much of the processors' time Linux lets this process have: quotas of its cgroups.

A container of ``--cpus=2`` on a machine of 64 cores sees all 64; 64 threads use up the
quota of a period together, and then all of them stand still until the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

GROUPS = Path("/proc/self/cgroup")
ROOT = Path("/sys/fs/cgroup")
CONTROLLER = "cpu"


@cache
def quota() -> float:
    """Processors' worth of time, as a rule for as long as a process lives; 0: all."""
    return told_quota(GROUPS, ROOT)


def told_quota(groups: Path, root: Path) -> float:
    """The least quota of the groups that ``groups`` lists, and of those around them.

    ``groups``: a file as ``/proc/self/cgroup``; ``root``: where groups are folders.  0
    if none has a quota, or the system has no groups.
    """
    lines: list[str] = []
    with suppress(OSError, UnicodeDecodeError):
        lines = groups.read_text("utf-8").splitlines()
    found = [each for line in lines for each in _quotas(line, root)]
    return min(found, default=0.0)


def _quotas(line: str, root: Path) -> Iterator[float]:
    """Of a line ``number:controllers:/group`` of one hierarchy."""
    _, _, rest = line.partition(":")
    controllers, _, group = rest.partition(":")
    if not controllers:
        read, place = _of_second_version, root
    elif CONTROLLER in controllers.split(","):
        read, place = _of_first_version, root / CONTROLLER
    else:
        return
    names = Path(group.strip("/")).parts
    # A container may see its own group as the root, which its name then is not below.
    for depth in range(len(names) + 1):
        with suppress(OSError, ValueError):
            yield from read(place.joinpath(*names[:depth]))


def _of_second_version(folder: Path) -> Iterator[float]:
    """``cpu.max``: microseconds, or ``max``, of a period of microseconds."""
    share, _, period = (folder / "cpu.max").read_text("ascii").partition(" ")
    if share != "max" and int(period) > 0:
        yield int(share) / int(period)


def _of_first_version(folder: Path) -> Iterator[float]:
    """The same in files of their own; -1 for no limit."""
    share = int((folder / "cpu.cfs_quota_us").read_text("ascii"))
    period = int((folder / "cpu.cfs_period_us").read_text("ascii"))
    if share > 0 and period > 0:
        yield share / period
