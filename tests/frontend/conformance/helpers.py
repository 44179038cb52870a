"""The names that ``//=`` lines may use."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.analysis import FunctionAnalysis, analyze
from gpucodegen.compiling.pipeline import front_passes
from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from gpucodegen.report.access_facts import nest_tree

Array = np.ndarray[Any, Any]


def after(function: Callable[..., object], *arguments: Any) -> Any:
    """The last argument after the call."""
    function(*arguments)
    return arguments[-1]


def fails(name: str, function: Callable[..., object], *arguments: Any) -> bool:
    """Whether a call ends in an error of this name, or of a kind of it."""
    with pytest.raises(errors.Error) as caught:
        function(*arguments)
    assert name in {each.__name__ for each in type(caught.value).__mro__}, caught.value
    return True


def close(actual: Any, wanted: Any) -> bool:
    """Equality of floating-point results."""
    return bool(np.allclose(actual, wanted, rtol=1e-5, atol=1e-6))


def numbers(*shape: int, dtype: str = "f4") -> Array:
    """Small whole numbers, no two neighbours alike."""
    count = int(np.prod(shape))
    return (np.arange(count) * 7 % 11 - 4).astype(dtype).reshape(shape)


def zeros(*shape: int, dtype: str = "f4") -> Array:
    """An output buffer."""
    return np.zeros(shape, dtype)


def strided(
    memory: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    """A view by offset and strides in elements."""
    size = memory.itemsize
    return np.lib.stride_tricks.as_strided(
        memory[offset:], shape, [size * stride for stride in strides]
    )


def convolution(
    kernel: Array,
    image: Array,
    shape: tuple[int, ...],
    strides: list[int],
    dilations: list[int],
) -> Array:
    """The sum over window positions z and input channels, by brute force."""
    result = np.zeros(shape, "f4")
    for b, *x in np.ndindex(*shape[:-1]):
        for z in np.ndindex(*kernel.shape[:-2]):
            at = (
                s * p + d * o
                for s, p, d, o in zip(strides, x, dilations, z, strict=True)
            )
            result[(b, *x)] += image[(b, *at)] @ kernel[z]
    return result


class Names:
    """Functions of the module by name, compiled for one target, and the helpers."""

    def __init__(self, module: Module, target: str) -> None:
        self.module = module
        self.target = target
        self._program = self.program()
        self._known: dict[str, Any] = {
            "np": np,
            "after": after,
            "fails": fails,
            "close": close,
            "numbers": numbers,
            "zeros": zeros,
            "convolution": convolution,
            "strided": strided,
            "program": self.program,
            "loops": self.loops,
            "bounds": self.bounds,
            "passed": self.passed,
            "after_pass": self.after_pass,
            "report": self.report,
            "tree": self.tree,
        }

    def program(self, **options: Any) -> gcg.Program:
        """The module compiled with options."""
        return gcg.compile(self.module, target=self.target, **options)

    def passed(self, pipeline: str) -> str:
        """The module after passes, as text."""
        return str(run_pipeline(self.module, parse_pipeline(pipeline)))

    def after_pass(self, pipeline: str) -> gcg.Program:
        """The module compiled after passes."""
        module = run_pipeline(self.module, parse_pipeline(pipeline))
        return gcg.compile(module, target=self.target)

    def loops(self, name: str) -> str:
        """``i parallel, j reduction``: the loops of a function, outermost first."""
        verdicts = self._analysis(name).loops
        return ", ".join(f"{v.loop.name} {v.kind.value}" for v in verdicts)

    def bounds(self, name: str) -> list[bool]:
        """For each access that may leave its buffer, whether it surely does."""
        return [v.proven for v in self._analysis(name).violations]

    def report(self, name: str) -> str:
        """All that is printed about a function."""
        return str(self._analysis(name))

    def tree(self, name: str) -> list[str]:
        """The schedule tree of the first nest of a function, line by line."""
        (function,) = gcg.explain(self.module, function=name, targets=()).functions
        return str(nest_tree(function.subject.nests[0])).splitlines()

    def _analysis(self, name: str) -> FunctionAnalysis:
        count = len(self._program[name].view.arguments)
        passes = front_passes(name, (None,) * count)
        unchecked = [pass_ for pass_ in passes if pass_.name != "check-bounds"]
        module = run_pipeline(self.module, unchecked)
        return analyze(module)[name]

    def all(self) -> dict[str, Any]:
        """Helpers, and the functions that have a body."""
        bodies = [n for n, op in self.module.functions.items() if op.regions[0].blocks]
        return {name: self._program[name] for name in bodies} | self._known


def holds(expression: str, module: Module, target: str) -> bool:
    """Whether a ``//=`` line is true."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        return bool(np.all(eval(expression, Names(module, target).all())))
