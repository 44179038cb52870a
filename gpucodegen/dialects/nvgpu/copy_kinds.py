"""Which copies the hardware makes on its own, and in pieces of how many bytes.

Comes in: the memories on both sides, the bytes of an element, what divides addresses
and lengths.  Goes out: a `CopyPlan`.  `KINDS` is the table: the first kind that goes
between these memories, and has a width that fits, is taken.  Both transfers that
programs write and the stagings of products ask here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True)
class CopyKind:
    """One way to copy: between which memories, and the bytes of its pieces.

    ``ends``: source and target; None stands for any.  ``widths``: widest first.
    ``free``: no register holds the pieces, and the thread goes on at once.
    """

    name: str
    ends: tuple[str, str] | None
    widths: tuple[int, ...]
    free: bool

    def goes(self, spaces: tuple[str, str]) -> bool:
        """Whether it goes from one memory to another."""
        return self.ends is None or self.ends == spaces

    def widest(self, element: int, common: int) -> int:
        """The widest piece of whole elements that divides a number of bytes, or 0.

        >>> ASYNCHRONOUS.widest(4, 24), ASYNCHRONOUS.widest(2, 6), LOOP.widest(2, 6)
        (8, 0, 2)
        """
        fitting = (n for n in self.widths if n % element == 0 and common % n == 0)
        return next(fitting, 0)


ASYNCHRONOUS = CopyKind("cp.async", ("global", "shared"), (16, 8, 4), free=True)
LOOP = CopyKind("copy", None, (16, 8, 4, 2, 1), free=False)
KINDS = (ASYNCHRONOUS, LOOP)
"""Best first.  Bulk copies and tensor maps (sm_90) are not among them."""
WIDEST = 16


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """A kind of copy by its name, the bytes of each access, and why no wider ones.

    ``width`` 0: no thread of a GPU copies.
    """

    mechanism: str
    width: int
    reason: str


def plan_copy(
    size: int,
    spaces: tuple[str, str],
    multiples: Mapping[str, int],
    exact: Collection[str] = (),
) -> CopyPlan:
    """The plan of a transfer on a GPU.

    ``size``: bytes of an element.  ``spaces``: of source and target.  ``multiples``:
    for each address and length, a number of bytes that surely divides it; 0 for zero.
    ``exact``: which of them are that number itself.

    >>> both = {"source": 16, "target": 48, "count": 1024}
    >>> plan_copy(4, ("global", "shared"), both).reason
    'every address and length is a multiple of 16 bytes'
    >>> plan = plan_copy(2, ("global", "shared"), both | {"source": 2})
    >>> plan.mechanism, plan.width, plan.reason
    ('copy', 2, 'the source is only known to be a multiple of 2 bytes')
    >>> plan_copy(4, ("global", "shared"), both | {"stride": 132}, {"stride"}).reason
    'the stride is 132 bytes, no multiple of 16'
    >>> plan_copy(4, ("shared", "global"), both).reason
    'cp.async goes from global to shared memory only, not from shared to global'
    """
    common = gcd(*multiples.values())
    kinds = [(kind, kind.widest(size, common)) for kind in KINDS if kind.goes(spaces)]
    kind, width = next((k, n) for k, n in [*kinds, (LOOP, size)] if n)
    reasons: list[str] = []
    if not ASYNCHRONOUS.goes(spaces):
        from_, to = spaces
        reasons.append(
            f"cp.async goes from global to shared memory only, not from {from_} to {to}"
        )
    if width < WIDEST:
        reasons.append(_narrow(multiples, exact))
    elif not reasons:
        reasons.append(f"every address and length is a multiple of {WIDEST} bytes")
    return CopyPlan(kind.name, width, "; ".join(reasons))


def _narrow(multiples: Mapping[str, int], exact: Collection[str]) -> str:
    """What keeps accesses narrow: the address or length of fewest factors of two."""
    part, known = min(multiples.items(), key=lambda item: item[1] & -item[1] or WIDEST)
    if part in exact:
        return f"the {part} is {known} bytes, no multiple of {WIDEST}"
    return f"the {part} is only known to be a multiple of {known} bytes"
