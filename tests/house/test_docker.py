from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import readme

FILES = sorted((readme.ROOT / "docker").glob("*.Dockerfile"))
PLAIN = {"FROM", "ENV", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD"}
INSTRUCTIONS = PLAIN | {"USER", "HEALTHCHECK"}


def instructions(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    words = [line.partition(" ") for line in lines if line and line[0] != "#"]
    return [(name, rest) for name, _, rest in words]


def test_there_is_one_for_the_cpu_and_one_for_cuda() -> None:
    assert [path.stem for path in FILES] == ["cpu", "cuda"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
class TestDockerfile:
    def test_runs_only_commands_of_the_readme(self, path: Path) -> None:
        runs = [rest for name, rest in instructions(path) if name == "RUN"]
        assert readme.MAIN_JOB in runs
        assert set(runs) <= {*readme.COMMANDS, *readme.INLINE}

    def test_uses_only_plain_instructions(self, path: Path) -> None:
        names = [name for name, _ in instructions(path)]
        assert names[0] == "FROM"
        assert set(names) <= INSTRUCTIONS

    def test_pins_its_base_images(self, path: Path) -> None:
        stages: set[str] = set()
        for name, rest in instructions(path):
            if name == "FROM":
                image, _, stage = rest.partition(" AS ")
                tag = image.partition(":")[2]
                assert image in stages or tag not in {"", "latest"}
                stages.add(stage)

    def test_copies_the_whole_tree_to_an_absolute_folder(self, path: Path) -> None:
        rest = dict(instructions(path))
        assert rest["COPY"] == ". ."  # only a whole copy keeps the links intact
        assert rest["WORKDIR"].startswith("/")

    def test_runs_as_a_user_and_watches_itself(self, path: Path) -> None:
        names = [name for name, _ in instructions(path)]
        rest = dict(instructions(path))
        assert rest["USER"].partition(":")[0] not in {"", "0", "root"}
        assert names.index("USER") > max(n for n, x in enumerate(names) if x == "RUN")
        assert 'CMD [".venv/bin/python", "examples/matmul.py"]' in rest["HEALTHCHECK"]
        assert "GPUCODEGEN_CACHE_DIR=/tmp/" in rest["ENV"]  # the user has no home

    def test_starts_without_a_shell(self, path: Path) -> None:
        rest = dict(instructions(path))
        assert rest["ENTRYPOINT"].startswith("[")
        assert rest["CMD"].startswith("[")
