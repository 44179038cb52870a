"""``python -m tests.made COUNT [FIRST] [AREA ...]``: programs, from a seed on.

The areas are taken in turn, all unless some are named.  Each difference is printed; the
status is 1 if there is one.
"""

from __future__ import annotations

import sys

from tests.made.rounds import NAMES, failures, in_turn


def main(count: int, first: int = 0, areas: tuple[str, ...] = NAMES) -> int:
    """Run the programs, the areas in turn."""
    wrong = 0
    for number in range(count):
        seed, area = divmod(number, len(areas))
        found = failures(areas[area], first + seed, in_turn(first + seed))
        wrong += len(found)
        for text in found:
            sys.stdout.write(f"{text}\n")
    sys.stdout.write(f"{count} programs, {wrong} differences\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
    named = tuple(text for text in sys.argv[1:] if not text.isdigit())
    count, first = [*numbers, 0][:2]
    sys.exit(main(count, first, named or NAMES))
