"""Cut the pieces that ``ranges.txt`` names out of the documents.

Run in ``tests/frontend`` as ``python -m documents.extract FOLDER``; the folder holds
the documents as ``langref-2019.txt`` and so on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from documents.blocks import DOCUMENTS, HERE, Place, head, ranges


def cut(lines: list[str], place: Place) -> str:
    """The lines of a place; of a comparison only one side, without its signs."""
    chosen = lines[place.first - 1 : place.last]
    if not place.side:
        return "\n".join(chosen) + "\n"
    other = "+" if place.side == "-" else "-"
    kept = [line for line in chosen if not line.startswith(other)]
    return "".join(f"{line.removeprefix(place.side)}\n" for line in kept)


def main(folder: str) -> None:
    """Write one file of pieces per document."""
    for name in DOCUMENTS:
        lines = (Path(folder) / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        places = [p for p in ranges() if p.document == name and p.kind != "listing"]
        pieces = [f"{head(place)}\n{cut(lines, place)}" for place in places]
        (HERE / f"{name}.blocks").write_text("\n".join(pieces), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
