from __future__ import annotations

import doctest
import importlib
import pkgutil
from typing import Any

import pytest

import bench
import examples
import gpucodegen
from tests.house.readme import ROOT

EXTRAS = {"cupy", "numba_cuda", "rich", "matplotlib", "triton"}
MODULES = [
    module.name
    for package in (gpucodegen, bench, examples)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def named(module: str) -> Any:
    """A module, marked if it needs what no run of CI installs."""
    marks = [pytest.mark.frameworks] * (module == "bench.gpu.triton_kernels")
    return pytest.param(module, marks=marks)


@pytest.mark.parametrize("name", [*map(named, ["gpucodegen", *MODULES])])
def test_docstrings(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in EXTRAS:
            pytest.skip(f"needs {error.name}")
        raise
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("page", sorted(p.name for p in (ROOT / "docs").glob("*.md")))
def test_pages(page: str) -> None:
    path = str(ROOT / "docs" / page)
    assert doctest.testfile(path, module_relative=False, optionflags=FLAGS).failed == 0


def test_readme_example() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["c"][0, 0] == 200.0  # pyright: ignore[reportIndexIssue]
