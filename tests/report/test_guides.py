"""The commands of the guides to GPUs run, and the page of kinds names each of them.

Their Python runs with the doctests of all pages.
"""

from __future__ import annotations

import doctest
import re
import shlex
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from examples.catalogue import FOLDER
from gpucodegen.cli import main
from gpucodegen.compiling.tuned_schedules import tuning_store
from gpucodegen.passes.gpu import map_gpu
from gpucodegen.tiling.tuning.exchange import exported
from gpucodegen.tuning import tune
from tests.house.readme import ROOT

PAGES = ("offload-to-a-gpu.md", "how-a-nest-becomes-a-grid.md", "tuning.md")
TEXTS = {page: (ROOT / "docs" / page).read_text(encoding="utf-8") for page in PAGES}
COMMANDS = [
    line
    for text in TEXTS.values()
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
TUNING = "gpucodegen tune examples/matmul.mlir --sizes 96 --trials 2"
"""Leaves trials that can be plotted."""
OURS = [line for line in dict.fromkeys(COMMANDS) if line.startswith("gpucodegen ")]


@pytest.mark.parametrize("command", OURS)
@pytest.mark.sampled(5, long=("tune plot",))
def test_commands_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(FOLDER)
    (tmp_path / "tuned.json").write_text(exported(tuning_store(), []))
    monkeypatch.chdir(tmp_path)
    if command.startswith("gpucodegen tune plot"):
        pytest.importorskip("matplotlib")
        assert main(shlex.split(TUNING)[1:]) == 0
    assert main(shlex.split(command)[1:]) == 0


@pytest.mark.slow
def test_examples_of_tuning_that_need_extras_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What doctests skip, after what it names; the doctests run the other examples.

    Two workers in this process stand in for other machines.
    """
    for extra in ("matplotlib", "optuna"):
        pytest.importorskip(extra)
    distributed = pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_examples(TEXTS["tuning.md"])
    skipped = [one for one in examples if doctest.SKIP in one.options]
    assert len(skipped) == 7
    named = takewhile(lambda one: "tune" not in one.source, examples)
    search = tune.tune

    def of_few_trials(*given: Any, **options: Any) -> Any:
        return search(*given, **{"trials": 3} | options)

    monkeypatch.setattr(tune, "tune", of_few_trials)
    names: dict[str, object] = {}
    with distributed.LocalCluster(
        2, processes=False, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        client = distributed.Client
        monkeypatch.setattr(distributed, "Client", lambda _: client(cluster))
        for one in (*named, *skipped):
            exec(one.source, names)
    assert (tmp_path / "trials.svg").stat().st_size > 1000


def test_other_commands_install_extras_or_start_the_benchmark() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    others = [line for line in COMMANDS if line not in OURS]
    assert others.pop() == "python -m bench gpu"
    for line in others:
        found = re.fullmatch(r"pip install (?:-e )?'[\w.]+\[([\w,-]+)\]'", line)
        assert found, line
        for extra in found[1].split(","):
            assert f"\n{extra} = [" in project


def test_every_kind_is_on_the_page() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", TEXTS[PAGES[1]], re.MULTILINE))
    assert {kind.__name__ for kind in map_gpu.KINDS} <= named
