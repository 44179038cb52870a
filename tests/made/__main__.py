"""``python -m tests.made COUNT [FIRST]``: so many programs, from a seed on.

Each difference is printed; the status is 1 if there is one.
"""

from __future__ import annotations

import sys

from tests.made.areas import AREAS
from tests.made.rounds import failures, in_turn


def main(count: int, first: int = 0) -> int:
    """Run the programs, the areas in turn."""
    wrong = 0
    for number in range(count):
        seed, area = divmod(number, len(AREAS))
        found = failures(list(AREAS)[area], first + seed, in_turn(first + seed))
        wrong += len(found)
        for text in found:
            sys.stdout.write(f"{text}\n")
    sys.stdout.write(f"{count} programs, {wrong} differences\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
