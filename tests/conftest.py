"""Markers that depend on the machine: a GPU, and the CUDA compiler without one.

``--update-golden`` rewrites the files that hold what is generated.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import pytest


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
def has_cuda_compiler() -> bool:
    names = ("numba_cuda", "nvidia.cu13")
    try:
        return all(importlib.util.find_spec(name) for name in names)
    except ModuleNotFoundError:
        return False


NEEDS = {
    "gpu": (has_gpu, "no CUDA device"),
    "cuda13": (has_cuda_compiler, "the cuda13 extra is not installed"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite files of generated text"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for name, (found, reason) in NEEDS.items():
            if item.get_closest_marker(name) and not found():
                item.add_marker(pytest.mark.skip(reason=reason))


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
        pytest.param(
            "gpucodegen.runtime.devices.emulated_array", marks=pytest.mark.cuda13
        ),
    ],
    ids=["gpu", "emulated"],
)
def xp(request: pytest.FixtureRequest) -> Any:
    """The array library of a device: CuPy, or that of the emulated device."""
    return importlib.import_module(request.param)
