"""For what a tuned schedule holds: what decides over code and speed, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.compiling import tuned_schedules
from gpucodegen.compiling.tuned_schedules import (
    MEASURED,
    Scope,
    tuning_identity,
    tuning_store,
)
from gpucodegen.runtime import processor
from gpucodegen.runtime.devices import inventory
from gpucodegen.runtime.devices.inventory import Gpu
from gpucodegen.runtime.processor import NEON
from gpucodegen.runtime.storage import cache
from gpucodegen.tiling.tuning.search import Status, Trial

BUCKET = Scope("bucket")


def fill(element: str = "f64") -> str:
    memref = f"memref<?x?x{element}, strided<[?, ?]>>"
    return f"""func.func @fill(%A: {memref}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %A, %c0 : {memref}
      %m = memref.dim %A, %c1 : {memref}
      %one = arith.constant 1.0 : {element}
      affine.for %i = 0 to %n {{
        affine.for %j = 0 to %m {{
          affine.store %one, %A[%i, %j] : {memref}
        }}
      }}
      return
    }}"""


def key(
    array: np.ndarray, text: str = "", scope: Scope = MEASURED, **options: Any
) -> str:
    chosen: dict[str, Any] = {"target": "cpu", **options}
    function = gcg.compile(text or fill(), **chosen)["fill"]
    key = function.key_for((array,))
    return tuning_identity(function.source, "fill", key, function.options, scope)


ARRAY = np.zeros((64, 32))
APART = np.zeros(64 * 32 + 1)[1:].reshape(64, 32)
"""The same at another place between multiples of 16 bytes."""
CHANGES: dict[str, Callable[[], str]] = {
    "nothing": lambda: key(ARRAY),
    "extent": lambda: key(ARRAY[:32]),
    "strides": lambda: key(np.zeros((32, 64)).T),
    "step": lambda: key(np.zeros((64, 64))[:, ::2]),
    "dtype": lambda: key(ARRAY.astype("f4"), fill("f32")),
    "program": lambda: key(ARRAY, fill().replace("1.0", "2.0")),
    "target": lambda: key(ARRAY, target="sim"),
    "alignment": lambda: key(APART, target="sim"),
    "prediction": lambda: key(ARRAY, "", Scope("exact", "sm_90"), target="sim"),
    "architecture": lambda: key(ARRAY, "", Scope("exact", "sm_80"), target="sim"),
    "bucket": lambda: key(ARRAY, "", BUCKET),
    "predicted bucket": lambda: key(ARRAY, "", Scope("bucket", "sm_90"), target="sim"),
    "exact": lambda: key(ARRAY, exact=True),
    "reassociate": lambda: key(ARRAY, reassociate=True),
    "threads": lambda: key(ARRAY, threads=1),
    "time tiles": lambda: key(ARRAY, time_tiles=False),
    "unchecked": lambda: key(ARRAY, unchecked=True),
    "all shapes": lambda: key(ARRAY, specialize=False),
}


def test_each_change_has_a_key_of_its_own() -> None:
    assert ARRAY.ctypes.data % 16 == 0
    assert APART.ctypes.data % 16 != 0
    keys = {name: made() for name, made in CHANGES.items()}
    assert len(set(keys.values())) == len(keys), keys


ALIKE: dict[str, Callable[[], str]] = {
    "other numbers": lambda: key(ARRAY + 1),
    "proofs": lambda: key(ARRAY, verify=False),
    "chosen sizes": lambda: key(ARRAY, tile_sizes=(8,)),
    "chosen plan": lambda: key(ARRAY, plan={"stream.width": 2}),
}


@pytest.mark.cases("name", list(ALIKE))
def test_what_decides_nothing_is_not_in_the_key(name: str) -> None:
    assert ALIKE[name]() == key(ARRAY)


H200 = Gpu("H200", (9, 0), 1 << 37, 132, 13000)
MACHINES: dict[str, tuple[Gpu, str]] = {
    "as it is": (H200, "1.0"),
    "device": (Gpu("B200", (10, 0), 1 << 37, 148, 13000), "1.0"),
    "same name": (Gpu("H200", (9, 1), 1 << 37, 132, 13000), "1.0"),
    "driver": (Gpu("H200", (9, 0), 1 << 37, 132, 13010), "1.0"),
    "version": (H200, "1.1"),
}


def test_device_driver_and_versions_are_in_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def made(gpu: Gpu, version: str) -> str:
        def package_version(name: str) -> str:
            del name
            return version

        monkeypatch.setattr(inventory, "current_gpu", lambda: gpu)
        monkeypatch.setattr(inventory, "gpus", lambda: (gpu,))
        monkeypatch.setattr(cache, "package_version", package_version)
        return key(ARRAY, target="cuda")

    keys = {name: made(*facts) for name, facts in MACHINES.items()}
    assert len(set(keys.values())) == len(keys)


def test_the_processor_is_in_keys_of_its_own_programs_only() -> None:
    here = key(ARRAY), key(ARRAY, target="sim")
    with processor.stated(NEON):
        there = key(ARRAY), key(ARRAY, target="sim")
    assert here[0] != there[0]
    assert here[1] == there[1]


def test_sources_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(ARRAY)
    monkeypatch.setattr(cache, "sources_content", lambda: "other")
    assert key(ARRAY) != before


def stored(array: np.ndarray, size: int, scope: Scope = MEASURED) -> None:
    session = tuning_store().session(key(array, "", scope))
    session.describe({})
    session.remember(Trial({"tile0": 0}, Status.OK, 1.0))
    session.crown({"tile0": size} if size else None, 2.0)


def sizes(rows: int, columns: int) -> tuple[int, ...]:
    array = np.zeros((rows, columns))
    program = gcg.compile(fill(), target="cpu")
    program.fill(array)
    assert array.all()
    return program.fill.executable().options.tile_sizes


@pytest.fixture
def _empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("_empty")
def test_a_foreign_shape_is_used_only_from_its_bucket() -> None:
    stored(ARRAY, 8)
    assert sizes(64, 32) == (8,)
    assert sizes(63, 32) == ()
    stored(ARRAY, 16, BUCKET)
    assert sizes(64, 32) == (8,)
    assert sizes(63, 32) == sizes(33, 17) == (16,)
    assert sizes(32, 32) == sizes(64, 33) == ()


@pytest.mark.slow
@pytest.mark.usefixtures("_empty")
def test_a_default_that_stays_for_a_shape_beats_its_bucket() -> None:
    stored(ARRAY, 16, BUCKET)
    assert sizes(64, 32) == (16,)
    stored(ARRAY, 0)
    assert sizes(64, 32) == ()
    assert sizes(60, 30) == (16,)


@pytest.mark.slow
@pytest.mark.usefixtures("_empty")
def test_tuning_for_a_bucket_stores_it_and_show_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gcg.tune(fill(), "fill", ARRAY, shapes="bucket", candidates=[(8,)], isolate=False)
    (place,) = tuning_store().subjects()
    assert place == key(np.zeros((40, 20)), "", BUCKET)
    assert main(["tune", "show"]) == 0
    assert "and their bucket" in capsys.readouterr().out


def test_shapes_are_exact_or_a_bucket() -> None:
    with pytest.raises(errors.InvalidOption, match="exact, bucket"):
        gcg.tune(fill(), "fill", ARRAY, shapes="near")


def test_scopes_are_asked_in_order() -> None:
    assert tuned_schedules.scopes_of("cpu") == [MEASURED, BUCKET]
    predicted = [Scope(shapes, "sm_90") for shapes in tuned_schedules.SHAPES]
    assert tuned_schedules.scopes_of("sim") == [MEASURED, BUCKET, *predicted]
