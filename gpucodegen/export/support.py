"""Collects the modules of this package that an exported one copies under a new name.

They are the modules that running imports, found in the sources; modules that only
compiling needs are left out, and functions that would import them are never called
there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
OURS = ROOT.name
COMPILING = (
    "analysis api checking cli commands dialects emit interp kernels parser passes "
    "program program_text report tuning"
).split()
"""Modules that running never needs."""
_NAME = re.compile(rf"\b{OURS}(?=\.[a-z_]+|\s+import\b)")


def modules(
    roots: Iterable[str], exchanged: Mapping[str, str], left_out: Iterable[str] = ()
) -> dict[str, str]:
    """Module name to source of all modules that the roots import, even in functions.

    ``exchanged``: modules that others replace. ``left_out``: folders and modules to
    omit, besides those of compiling.

    >>> found = modules(["gpucodegen.errors"], {})
    >>> "gpucodegen.errors.base" in found, "gpucodegen.dialects" in found
    (True, False)
    """
    unwanted = tuple(f"{OURS}.{name}" for name in (*COMPILING, *left_out))
    found: dict[str, str] = {}
    waiting = [OURS, *roots]
    while waiting:
        name = waiting.pop()
        if name in found or _is_in(name, unwanted):
            continue
        path = _file(exchanged.get(name, name))
        if path is None:
            continue
        found[name] = '"""Taken from gpucodegen."""\n' if name == OURS else _text(path)
        waiting += _above(name)
        waiting += _named(ast.parse(found[name]))
    return found


def renamed(text: str, new: str) -> str:
    """A source whose imports of this package are redirected to another one.

    >>> renamed("from gpucodegen.errors import Error", "mine._gpucodegen")
    'from mine._gpucodegen.errors import Error'
    """
    return _NAME.sub(new, text)


def place(name: str) -> str:
    """Path of a module in its package.

    >>> place("gpucodegen.errors"), place("gpucodegen.errors.base")
    ('errors/__init__.py', 'errors/base.py')
    """
    inner = Path(*name.split(".")[1:])
    file = _file(name)
    assert file is not None
    is_folder = file.name == "__init__.py"
    return (inner / file.name if is_folder else inner.with_suffix(".py")).as_posix()


def _is_in(name: str, folders: Iterable[str]) -> bool:
    return any(name == folder or name.startswith(f"{folder}.") for folder in folders)


def _file(name: str) -> Path | None:
    """The file of a module of this package; None for other names."""
    first, *inner = name.split(".")
    path = ROOT.joinpath(*inner)
    if first != OURS:
        return None
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file() and (inner or file.parent == ROOT):
            return file
    return None


def _text(path: Path) -> str:
    return path.read_text("utf-8")


def _above(name: str) -> Iterator[str]:
    """The packages that contain a module."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _named(node: ast.AST) -> Iterator[str]:
    """Modules that a syntax tree may import: at top level, in functions, by name."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.ImportFrom(module=str(module)):
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.Constant(value=str(text)) if re.fullmatch(rf"{OURS}[\w.]+", text):
            yield text
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from _named(child)
