"""The words in which a kernel notes accesses that it left out, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field

Told = tuple[object, ...]
"""Place, verb, buffer, dimension, extent and names of the values of a report."""


@dataclass(slots=True)
class Reports:
    """Reports of one kernel.

    Each takes one word that says whether there is one, and one for each of its values.
    ``pointer``: the parameter that leads to the words, once there is a report.

    >>> reports = Reports()
    >>> reports.add(("first",), 2), reports.add(("second",), 1)
    (0, 3)
    >>> reports.words
    5
    """

    pointer: str = ""
    words: int = 0
    told: list[Told] = field(default_factory=list[Told])

    def add(self, told: Told, values: int) -> int:
        """The first word of another report."""
        first = self.words
        self.words += 1 + values
        self.told.append(told)
        return first
