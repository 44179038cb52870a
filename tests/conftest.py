"""Markers that depend on the machine: a GPU, the CUDA compiler without one, documents.

Of many cases alike, ``sampled`` leaves a few to the quick run.

Random programs are the same in every run, so that only a change makes a test fail;
``--fuzz`` makes others.  ``--update-golden`` rewrites the files that hold what is
generated; ``--processor=NAME`` plans for a processor of
`gpucodegen.runtime.machine.processors`, and compiles for it if this machine runs its
code; tests about GPUs alone are left out.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings


@cache
def has_gpu() -> bool:
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy  # pyright: ignore[reportMissingImports]

    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


@cache
def has_ptxas() -> bool:
    names = ("numba_cuda", "nvidia.cu13")
    try:
        return all(importlib.util.find_spec(name) for name in names)
    except ModuleNotFoundError:
        return False


@cache
def has_disassembler() -> bool:
    from gpucodegen.runtime.cuda import compilation, tools

    return compilation.has_assembler() and bool(tools.tool("nvdisasm"))


def has_documents() -> bool:
    return Path(os.environ.get("GPUCODEGEN_DOCUMENTS") or "nowhere").is_dir()


NEEDS = {
    "gpu": (has_gpu, "no CUDA device"),
    "ptxas": (has_ptxas, "numba-cuda of the extra peers is not installed"),
    "sass": (has_disassembler, "nvdisasm of the extra report is not installed"),
    "documents": (has_documents, "GPUCODEGEN_DOCUMENTS names no folder"),
}


ABOUT_DEVICES = {"gpu", "cuda", "ptx", "device"}
"""Words in the names of files whose tests are about devices."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite files of generated text"
    )
    parser.addoption(
        "--fuzz", action="store_true", help="make other random programs in each run"
    )
    parser.addoption(
        "--processor", metavar="NAME", help="plan and compile for it: sse2, avx2-512k"
    )


def pytest_configure(config: pytest.Config) -> None:
    """No example has a deadline: how long one takes says nothing about the program.

    Numba reads the environment when it is imported, and so do other processes.
    """
    same = not config.getoption("--fuzz")
    settings.register_profile("patient", deadline=None, derandomize=same)
    settings.load_profile("patient")
    name = config.getoption("--processor")
    if name is None:
        return
    from gpucodegen.runtime.machine.processors import PROCESSORS, runs_here

    if name not in PROCESSORS:
        raise pytest.UsageError(f"{name!r} is none of {', '.join(PROCESSORS)}")
    if runs_here(PROCESSORS[name]):
        os.environ |= PROCESSORS[name].variables


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    thin_out(items)
    if config.getoption("--processor") is not None:
        config.hook.pytest_deselected(items=[i for i in items if on_a_device(i)])
        items[:] = [item for item in items if not on_a_device(item)]
    for item in items:
        for name, (found, reason) in NEEDS.items():
            if item.get_closest_marker(name) and not found():
                item.add_marker(pytest.mark.skip(reason=reason))


def thin_out(items: list[pytest.Item]) -> None:
    """Of a test marked `sampled(n)` every nth case is quick, the others are slow.

    ``sampled(n, long=("lu",))``: so are cases with such words in their names.
    """
    places: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None:
            continue
        place = item.nodeid.partition("[")[0]
        is_long = any(word in item.name for word in mark.kwargs.get("long", ()))
        if is_long or places[place] % mark.args[0]:
            item.add_marker(pytest.mark.slow)
        places[place] += 1


def on_a_device(item: pytest.Item) -> bool:
    """Whether a test is about a GPU alone, whose kernels no processor changes.

    Its ``target`` tells, or its file's name.
    """
    call: Any = getattr(item, "callspec", None)
    if call is not None and "target" in call.params:
        return call.params["target"] == "sim"
    return bool(ABOUT_DEVICES & {*item.path.stem.split("_")})


@pytest.fixture(autouse=True)
def processor(request: pytest.FixtureRequest) -> Iterator[None]:
    """The one that ``--processor`` names, where the environment does not state it."""
    name = request.config.getoption("--processor")
    if name is None:
        yield
        return
    from gpucodegen.runtime.machine.processor import stated
    from gpucodegen.runtime.machine.processors import PROCESSORS, runs_here

    here = runs_here(PROCESSORS[name])
    with nullcontext() if here else stated(PROCESSORS[name]):
        yield


@pytest.fixture(autouse=True)
def private_cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests neither read nor change the user's cache; they share one of their own."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(folder))


@pytest.fixture(autouse=True)
def emulated_device(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels for CUDA run on the emulated device, but in tests of a GPU."""
    if request.node.get_closest_marker("gpu") is None:
        monkeypatch.setenv("GPUCODEGEN_DEVICE", "emulated")


@pytest.fixture(
    params=[
        pytest.param("cupy", marks=pytest.mark.gpu),
        "gpucodegen.runtime.devices.emulated_cupy",
    ],
    ids=["gpu", "emulated"],
)
def xp(request: pytest.FixtureRequest) -> Any:
    """The array library of a device: CuPy, or that of the emulated device."""
    return importlib.import_module(request.param)
