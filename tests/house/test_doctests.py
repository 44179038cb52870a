from __future__ import annotations

import doctest
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house.readme import ROOT

EXTRAS = {"cupy", "numba_cuda", "jax", "scipy", "rich", "matplotlib", "triton"}
FRAMEWORKS = Path("bench", "gpu", "triton_kernels.py")
COMPILING = Path("gpucodegen", "kernels"), Path("gpucodegen", "interop")
"""Folders of modules whose examples compile kernels, and take long."""
LONG = {
    "frameworks",
    "kernels",
    "offload-to-a-gpu",
    "python",
    "scale",
    "schedules",
    "tuning",
    "tutorial",
}
"""Pages whose examples take more than a second."""
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> Iterator[Path]:
    """All modules that users may import, by their paths in the repository."""
    for package in ("gpucodegen", "bench", "examples"):
        for folder in (package, f"{package}/tiling", f"{package}/kernels"):
            for path in sorted((ROOT / folder).rglob("*.py")):
                if path.stem != "__main__":
                    yield path.relative_to(ROOT)


def run_examples(path: Path) -> None:
    """Import a module, and run the examples of its docstrings if it has any."""
    parts = path.with_suffix("").parts
    name = ".".join(parts[: len(parts) - (path.stem == "__init__")])
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in EXTRAS:
            pytest.skip(f"needs {error.name}")
        raise
    if ">>>" not in (ROOT / path).read_text("utf-8"):
        return
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder().find(module):
        if test.examples:  # each run checks all files in the cache of lines
            runner.run(test)
    assert runner.tries > 0
    assert runner.failures == 0


@cache
def some(*, is_compiling: bool) -> list[Path]:
    """The modules in `COMPILING`, or all others."""
    return [
        path
        for path in sorted({*modules()} - {FRAMEWORKS})
        if any(path.is_relative_to(folder) for folder in COMPILING) == is_compiling
    ]


@pytest.mark.cases("path", lambda: some(is_compiling=False), parts=150)
def test_docstrings(path: Path) -> None:
    run_examples(path)


@pytest.mark.slow
@pytest.mark.cases("path", lambda: some(is_compiling=True), parts=10)
def test_docstrings_whose_examples_compile_kernels(path: Path) -> None:
    run_examples(path)


@pytest.mark.frameworks
def test_docstrings_of_kernels_in_triton() -> None:
    run_examples(FRAMEWORKS)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(path.name, marks=[pytest.mark.slow] * (path.stem in LONG))
        for path in sorted((ROOT / "docs").glob("*.md"))
    ],
)
def test_pages(page: str) -> None:
    path = str(ROOT / "docs" / page)
    assert doctest.testfile(path, module_relative=False, optionflags=FLAGS).failed == 0


def test_readme_example() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["c"][0, 0] == 200.0  # pyright: ignore[reportIndexIssue]
