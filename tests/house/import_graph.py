"""The import graph of the product, read from its sources.

Every import counts: at the top of a file, inside a function, and for type checkers
only.  `floors` reads the order of the rows from docs/layout.md.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

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


def trees(root: Path = PRODUCT) -> dict[str, ast.Module]:
    """The syntax tree of each module; a package is its ``__init__.py``."""
    found: dict[str, ast.Module] = {}
    gc.disable()  # takes longer than the parser: the trees are millions of objects
    try:
        for folder in folders(root):
            package = ".".join((root.name, *folder.relative_to(root).parts))
            for path in sorted(folder.glob("*.py")):
                name = package if path.stem == "__init__" else f"{package}.{path.stem}"
                found[name] = ast.parse(path.read_text("utf-8"))
    finally:
        gc.enable()
    return found


def graph(trees: Mapping[str, ast.Module]) -> Graph:
    """Which modules each module imports."""
    known = set(trees)
    return {name: set(imported(tree, known)) for name, tree in trees.items()}


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, handlers and cases of a body; expressions hold no import."""
    for node in body:
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, name, ()))


def imported(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """The known modules that a file imports; imports are absolute (ruff checks it)."""
    for node in statements(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                if {inner, source} & known:
                    yield inner if inner in known else source


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of two or more nodes that reach one another, after Tarjan."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in number:
                visit(target)
            if target in stack:
                lowest[node] = min(lowest[node], lowest[target])
        if lowest[node] == number[node]:
            place = stack.index(node)
            if len(stack) > place + 1:
                found.append(sorted(stack[place:]))
            del stack[place:]

    for node in graph:
        if node not in number:
            visit(node)
    return found


def row(module: str) -> str:
    """The row of the plan that a module belongs to; the package itself has none."""
    return module.split(".")[1] if "." in module else ""


def floors() -> dict[str, int]:
    """The row number of each folder and module at the top of the package."""
    return {name.removesuffix(".py"): int(row) for row, name in ROWS if "/" not in name}


def planned_folders() -> list[str]:
    """The folders that the page names, each as its path from the top."""
    return [f"{name}/" for _, name in ROWS if not name.endswith(".py")]
