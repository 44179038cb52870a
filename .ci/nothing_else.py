"""Fails unless this interpreter has the extra `test` and none of the other packages.

Run in the environment of README's test command: what comes with other extras must not
be there, or the tests have seen more than a new user has.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OTHERS = ("cuda12", "cuda13", "peers", "plot")
"""The extras whose packages `test` does not bring along by chance."""


def main() -> int:
    """Print what is there and should not be; 1 if anything is."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    unwanted = {plain(package) for extra in OTHERS for package in extras[extra]}
    present = {plain(found.metadata["Name"]) for found in distributions()}
    if found := sorted(unwanted & present):
        print(f"more than the extra test is installed: {', '.join(found)}")
        return 1
    print(f"absent, as they should be: {', '.join(sorted(unwanted))}")
    return 0


def plain(requirement: str) -> str:
    """The normal form of a package's name.

    >>> plain("Numba_CUDA[cu13]>=0.20")
    'numba-cuda'
    """
    name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
