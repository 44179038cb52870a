from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import gpucodegen as gcg
from tests.house import readme


def test_first_command_runs_the_main_job() -> None:
    assert readme.MAIN_JOB.endswith(".venv/bin/python examples/matmul.py")


def test_second_command_runs_all_tests() -> None:
    assert readme.TESTS.endswith(".venv/bin/python -m pytest -n auto")


@pytest.mark.parametrize("command", readme.COMMANDS)
def test_commands_do_all_the_set_up_they_need(command: str) -> None:
    make_venv, install, use = command.split(" && ")
    assert make_venv == "python3 -m venv .venv"
    assert install.startswith(".venv/bin/pip install -e ")
    assert use.startswith(".venv/bin/python ")


def test_links_lead_somewhere() -> None:
    top = [readme.ROOT / name for name in ("README.md", "CHANGELOG.md")]
    for page in [*top, *(readme.ROOT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        for link in re.findall(r"\]\(([^)]+)\)", prose):
            if "://" in link:
                continue
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), f"{page.name}: {link}"
            assert not anchor or anchor in _anchors(target), f"{page.name}: {link}"


def _anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    kept = [re.sub(r"[^\w -]", "", heading).lower() for heading in headings]
    return {heading.replace(" ", "-") for heading in kept}


def test_the_main_job_warns_of_nothing() -> None:
    """Warnings are errors here; of extents the analysis says what they must be."""
    path = readme.ROOT / "examples" / "matmul.mlir"
    printed = str(gcg.analyze(gcg.parse(path.read_text(encoding="utf-8"))))
    assert "out of bounds" not in printed
    (needs,) = re.findall(r"extents need: (.*)", printed)
    assert needs == "dim 0 of B >= K and dim 0 of C >= M and dim 1 of C >= N"


@pytest.mark.slow
def test_main_job_in_a_fresh_clone(tmp_path_factory: pytest.TempPathFactory) -> None:
    clone = tmp_path_factory.mktemp("clone") / "gpucodegen"
    unwanted = shutil.ignore_patterns(
        ".git",
        ".venv*",
        "__pycache__",
        ".*_cache",
        ".hypothesis",  # tests write these
    )
    shutil.copytree(readme.ROOT, clone, symlinks=True, ignore=unwanted)
    done = subprocess.run(
        ["bash", "-euc", readme.MAIN_JOB],
        cwd=clone,
        env=os.environ | {"PIP_COMPILE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NumPy time / gpucodegen time: best " in done.stdout
