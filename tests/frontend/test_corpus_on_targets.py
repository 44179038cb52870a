"""Every function of the corpus is compiled, or refused by an error of the catalogue."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.mlir"))


@pytest.mark.drawn(16)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.CodegenWarning")
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_functions_are_compiled_or_refused(path: Path) -> None:
    try:
        module = gcg.parse(path.read_text("utf-8"), allow_unregistered=True)
    except errors.Error:
        return
    for target in ("cpu", "sim"):
        program = gcg.compile(module, target=target, allow_unregistered=True)
        for name in module.functions:
            with suppress(errors.Error):
                program.source(name)


@pytest.mark.parametrize("target", ["interp", "cpu", "sim"])
@pytest.mark.parametrize("types", ["4x?xf32 *xf32", "*xf32 4x?xf32"])
def test_copies_between_buffers_with_and_without_a_rank(
    target: str, types: str
) -> None:
    source, to = (f"memref<{ty}>" for ty in types.split())
    program = gcg.compile(
        f"""func.func @f(%a: {source}, %b: {to}) {{
          memref.copy %a, %b : {source} to {to}
          return }}""",
        target=target,
    )
    a, b = np.arange(12, dtype="f4").reshape(4, 3), np.zeros((4, 3), "f4")
    program.f(a, b)
    assert np.array_equal(a, b)
    with pytest.raises((errors.ShapesDisagree, errors.WrongExtent)):
        program.f(a, b[:, :2].copy())
