"""The import graph of the product, as import-linter reads it from the sources.

Every import counts: at the top of a file, inside a function, and for type checkers
only.  `floors` reads the order of the rows from docs/layout.md.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.house.readme import ROOT

PACKAGE = "gpucodegen"
PRODUCT = ROOT / PACKAGE
ROWS = re.findall(
    r"^\| (\d) \| `([^`]+)` \|",
    (ROOT / "docs" / "layout.md").read_text("utf-8"),
    re.MULTILINE,
)
"""Row numbers and folders, from the first row to the last."""
Graph = dict[str, set[str]]


def folders(root: Path = PRODUCT) -> list[Path]:
    """The product's folders, the top one included; links are followed."""
    inner = sorted(p for p in root.iterdir() if (p / "__init__.py").exists())
    return [root, *(folder for path in inner for folder in folders(path))]


def entries(folder: Path) -> list[str]:
    """Modules by their names, and folders with a slash at the end."""
    modules = [p.stem for p in folder.glob("*.py") if not p.stem.startswith("__")]
    inner = [f"{p.name}/" for p in folder.iterdir() if (p / "__init__.py").exists()]
    return sorted(modules + inner)


def graph() -> Graph:
    """Which modules each module imports; skips where the extra dev is not installed."""
    grimp: Any = pytest.importorskip("grimp")
    found = grimp.build_graph(PACKAGE, cache_dir=None)
    return {
        name: found.find_modules_directly_imported_by(name) for name in found.modules
    }


def row(module: str) -> str:
    """The row of the plan that a module belongs to; the package itself has none."""
    return module.split(".")[1] if "." in module else ""


def floors() -> dict[str, int]:
    """The row number of each folder and module at the top of the package."""
    return {name.removesuffix(".py"): int(row) for row, name in ROWS if "/" not in name}


def planned_folders() -> list[str]:
    """The folders that the page names, each as its path from the top."""
    return [f"{name}/" for _, name in ROWS if not name.endswith(".py")]
