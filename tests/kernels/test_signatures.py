"""Functions that share a signature differ in name, docstring and defaults only."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from gpucodegen import kernels


@pytest.mark.cases("name", kernels.__all__)
def test_every_function_has_its_own_name_and_docstring(name: str) -> None:
    function = getattr(kernels, name)
    assert inspect.isfunction(function)
    assert function.__name__ == function.__qualname__ == name
    assert re.search(rf"\b{name}\(", inspect.getdoc(function) or "")
    assert pickle.loads(pickle.dumps(function)) is function
    parameters = {*inspect.signature(function).parameters}
    assert {"out", "target"} <= parameters
    assert parameters & {"how", "tune"}
    with pytest.raises(TypeError, match=rf"^{name}\(\)"):
        function()


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(TypeError, match=r"^softmax\(\) got an unexpected.*'tunes'"):
        kernels.softmax([1.0], tunes=True)  # pyright: ignore[reportCallIssue]


def test_defaults_depend_on_the_number_of_sides() -> None:
    windows = ("conv{}d", "conv_transpose{}d", "max_pool{}d", "avg_pool{}d")
    for sides, layout in ((1, "NWC"), (2, "NHWC"), (3, "NDHWC")):
        for form in windows:
            function = getattr(kernels, form.format(sides))
            default = inspect.signature(function).parameters["layout"].default
            assert default == layout
