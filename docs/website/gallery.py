"""The examples with their pictures: all of them run in the tests."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from website.made import Made
from website.pages import DOCS, ROOT

EXAMPLES = ROOT / "examples"
PICTURES = DOCS / "pictures"

_INTRODUCTION = """\
# Gallery

Each program here runs in the tests, on the CPU and on the emulated GPU, and its numbers
are compared with NumPy's. The pictures are what `gpucodegen explain` draws: points are
iterations, arrows lead from one to those that wait for it.
[How a nest is judged](how-a-nest-is-judged.md) explains them.
"""


def page() -> str:
    """The programs in MLIR, those with pictures first, then the functions of Python."""
    files = sorted(EXAMPLES.glob("*.mlir"), key=lambda p: (not _drawn(p), p.name))
    parts = [_INTRODUCTION, *map(_program, files)]
    return "\n".join([*parts, "## Functions of Python\n", *_functions()])


def _program(path: Path) -> str:
    """One file: what its first comment says, its pictures, its text."""
    text = path.read_text("utf-8")
    comment = re.match(r"(?://.*\n)+", text)
    about = comment[0].replace("//", "").split() if comment else []
    parts = [f"## {path.stem.replace('_', ' ')}\n", f"{' '.join(about)}\n"]
    for name, options in _drawn(path):
        command = f"gpucodegen explain examples/{path.name} --svg {options}".rstrip()
        parts.append(f"![{path.stem}: {name}](pictures/{name}.svg)\n")
        parts.append(f"```sh\n{command} -o {name}.svg\n```\n")
    body = text[comment.end() if comment else 0 :].strip("\n")
    return "\n".join([*parts, _folded("the MLIR", f"```mlir\n{body}\n```")])


def _drawn(path: Path) -> list[tuple[str, str]]:
    """Pictures of an example, and the options that draw them."""
    lines = (PICTURES / "pictures.txt").read_text("utf-8").splitlines()
    drawn: list[tuple[str, str]] = []
    for line in lines:
        name, _, rest = line.partition(": ")
        file, _, options = rest.partition(" ")
        if not line.startswith("#") and (PICTURES / file).resolve() == path:
            drawn.append((name, options))
    return drawn


def _functions() -> Iterator[str]:
    from examples.python_functions import FUNCTIONS

    for name, example in FUNCTIONS.items():
        function = example.function
        yield f"### {name.replace('_', ' ')}\n\n{inspect.getdoc(function)}\n"
        source = inspect.getsource(function).rstrip()
        yield _folded("the Python", f"```python\n@gcg.jit\n{source}\n```")


def _folded(summary: str, block: str) -> str:
    lines = "\n".join(f"    {line}".rstrip() for line in block.splitlines())
    return f'??? example "{summary.capitalize()}"\n\n{lines}\n'


PAGES = {
    "gallery.md": Made(
        "First steps", "Gallery", "the examples, with pictures of their loops", page
    )
}
