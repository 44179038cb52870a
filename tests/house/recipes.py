"""The steps of a recipe page: files to write, lines to insert, commands to run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.house.readme import ROOT

PAGES = {path.stem: path for path in sorted((ROOT / "docs" / "recipes").glob("*.md"))}
COPIED = ("gpucodegen", "tiling", "kernels", "examples", "docs")
BLOCK = re.compile(
    r"(?:^(?P<what>In|New file) `(?P<path>[^`]+)`:\n\n)?"
    r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Step:
    """What a fenced block of a page asks for; ``path`` is that of a file, if any."""

    kind: str
    path: str
    body: str


def steps(page: str) -> Iterator[Step]:
    """All blocks in order; each names its file, or is a command or its output."""
    for found in BLOCK.finditer(page):
        kind = {"In": "edit", "New file": "file", None: found["kind"]}[found["what"]]
        assert kind in {"edit", "file", "sh", "text"}, found[0]
        assert (kind == "edit") == (found["kind"] == "diff"), found[0]
        yield Step(kind, found["path"] or "", found["body"])


def copied(folder: Path) -> Path:
    """A copy of what the package is made of."""
    for name in COPIED:
        shutil.copytree(
            ROOT / name,
            folder / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    return folder


def carry_out(page: str, folder: Path) -> str:
    """Do what a page says in a copy; returns the commands that ran."""
    printed = ""
    log: list[str] = []
    for step in steps(page):
        if step.kind == "edit":
            _insert(folder / step.path, step.body)
        elif step.kind == "file":
            assert not (folder / step.path).exists(), step.path
            (folder / step.path).write_text(step.body, encoding="utf-8")
        elif step.kind == "text":
            assert printed == step.body, printed
        else:
            printed = _run(step.body, folder)
            log.append(step.body)
    return "".join(log)


def _insert(path: Path, body: str) -> None:
    """Hunks of a diff without line numbers: each names lines that stand there once."""
    text = path.read_text(encoding="utf-8")
    for hunk in body.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(f"\n{before}") == 1, f"{path}: these lines once:\n{before}"
        text = text.replace(f"\n{before}", f"\n{after}")
    path.write_text(text, encoding="utf-8")


def _run(commands: str, folder: Path) -> str:
    """What commands print, by this Python, with the package of the copy."""
    python = shlex.quote(sys.executable)
    done = subprocess.run(
        re.sub(r"\bpython (?=\S)", lambda _: f"{python} ", commands),
        shell=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
