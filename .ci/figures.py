"""Prints the size of the product, its literal duplicates, and names that were replaced.

``python .ci/figures.py`` counts lines, files and folders of the product and of its
passes; runs of six lines of code that stand in two places; and definitions with a name
of the table of renames.  ``--list`` prints these, too.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOPS = ("gpucodegen", "tiling", "kernels")
RUN = 6
"""Lines of code that count as a duplicate if they are equal."""
REPLACED = {
    *("Taken", "unlike", "Word", "Face", "Marks", "Around", "Menu", "StepTeam"),
    *("TurnedTile", "Held", "Walk", "Quads", "Crew", "Contained", "KeepInFlight"),
    *("LeastBarriers", "KnownCallees", "CheckExchanges", "Reach"),
}
"""Classes and functions of the table's left column."""
REPLACED_MODULES = {
    *("taken", "winners", "shipped", "faces", "ways", "joins", "meetings", "marks"),
    *("turns", "cones", "places", "menu", "teams", "own_tiles", "lessons", "claims"),
    *("crew", "hired", "contest", "wishes", "leaves", "surroundings", "held", "walk"),
    *("alone", "deals", "product_deals", "side_by_side", "late_starts", "needless"),
    *(
        "keep_in_flight",
        "least_barriers",
        "partial_updates",
        "known_callees",
        "exchanges",
    ),
}
"""Modules of that column."""


def modules(folder: Path) -> list[Path]:
    """All modules of a folder; links to other folders are not followed."""
    found = (path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    return sorted(path for path in found if not _is_linked(path, folder))


def _is_linked(path: Path, folder: Path) -> bool:
    return any(p.is_symlink() for p in path.parents if folder in p.parents)


def code(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and stripped lines without imports, docstrings, comments, blanks."""
    text = path.read_text("utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and number not in left_out and stripped[0] != "#":
            yield number, stripped


def duplicates(paths: list[Path]) -> list[str]:
    """Places of runs of equal lines, a run that goes on counted once."""
    places: dict[tuple[str, ...], list[tuple[Path, int, int]]] = defaultdict(list)
    for path in paths:
        lines = list(code(path))
        for at in range(len(lines) - RUN + 1):
            run = tuple(line for _, line in lines[at : at + RUN])
            if sum(len(line) for line in run) > RUN * 8:
                places[run].append((path, at, lines[at][0]))
    found: list[str] = []
    seen: set[tuple[Path, int, Path, int]] = set()
    for (one, at, line), *others in places.values():
        for other, there, elsewhere in others:
            if (one, at - 1, other, there - 1) not in seen:
                first, second = one.relative_to(ROOT), other.relative_to(ROOT)
                found.append(f"{first}:{line} {second}:{elsewhere}")
            seen.add((one, at, other, there))
    return found


def names(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines or assigns."""
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    assigned = {target.id for target in targets if isinstance(target, ast.Name)}
    return assigned | {getattr(node, "name", "")}


def replaced(paths: list[Path]) -> list[str]:
    """Definitions, aliases and modules with a name that was replaced."""
    found = [str(p.relative_to(ROOT)) for p in paths if p.stem in REPLACED_MODULES]
    for path in paths:
        for node in ast.parse(path.read_text("utf-8")).body:
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            found += [f"{place} {name}" for name in sorted(names(node) & REPLACED)]
    return found


def main() -> None:
    """Print the figures."""
    every = [path for top in TOPS for path in modules(ROOT / top)]
    for name, paths in (
        ("product", every),
        ("passes", modules(ROOT / "gpucodegen" / "passes")),
    ):
        lines = sum(len(path.read_text("utf-8").splitlines()) for path in paths)
        folders = len({path.parent for path in paths})
        sys.stdout.write(
            f"{name}: {lines} lines, {len(paths)} files, {folders} folders\n"
        )
    same, old = duplicates(every), replaced(every)
    sys.stdout.write(f"runs of {RUN} equal lines: {len(same)}\n")
    sys.stdout.write(f"names that were replaced: {len(old)}\n")
    if "--list" in sys.argv:
        sys.stdout.write("\n".join([*same, *old, ""]))


if __name__ == "__main__":
    main()
