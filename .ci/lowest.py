"""Constraints for pip: the lowest versions of what is needed, and of the extra `test`.

They are the lower bounds of pyproject.toml, which so are tested, not hoped for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOUND = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)")


def constraints(project: dict[str, object]) -> Iterator[str]:
    """A line for each package.

    >>> extras = {"test": ["pytest[dev]>=8.2.1"]}
    >>> given = {"dependencies": ["numpy>=2.1"], "optional-dependencies": extras}
    >>> list(constraints(given))
    ['numpy==2.1', 'pytest==8.2.1']
    """
    extras = project["optional-dependencies"]
    needed = project["dependencies"]
    assert isinstance(extras, dict)
    assert isinstance(needed, list)
    for requirement in [*needed, *extras["test"]]:
        found = BOUND.match(requirement)
        assert found, f"no lower bound: {requirement}"
        yield f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    print(*constraints(tomllib.loads(text)["project"]), sep="\n")
