"""The assembler takes what the emulated device runs: one cannot say it of the other."""

from __future__ import annotations

import pytest

import gpucodegen as gcg
from gpucodegen.parser import parse_module
from gpucodegen.runtime.cuda.compilation import compile_cubin
from tests.operations.arguments import arguments_of
from tests.operations.examples import Example, examples
from tests.operations.page import outcomes

pytestmark = pytest.mark.sass

ON_DEVICES = [
    example
    for name, example in examples().items()
    if name.startswith(("nvgpu.", "gpu.", "nvvm.")) and (name, "sim") not in outcomes()
]


@pytest.mark.sampled(18)
@pytest.mark.cases("example", ON_DEVICES, ids=lambda e: e.operation, parts=2)
def test_operations_of_devices(example: Example) -> None:
    module = parse_module(example.text)
    call = gcg.compile(module, target="sim", verify=False)["f"]
    call.bind(*arguments_of(module.functions["f"]))
    for spec in call.executable().kernels:
        assert compile_cubin(spec, (9, 0)).code
