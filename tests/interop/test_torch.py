from __future__ import annotations

from typing import Any

import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.interop.texts import VALUES

pytestmark = pytest.mark.frameworks
torch: Any = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def program() -> gcg.Program:
    return gcg.compile(VALUES, target="cpu", threads=1)


@pytest.fixture(scope="module")
def matmul(program: gcg.Program) -> Any:
    def backward(given: Any, result: Any, gradient: Any) -> Any:
        del result
        a, b = given
        return gradient @ b.T, a.T @ gradient

    return gcg.torch.op("gcg_tests::matmul", program.matmul, backward=backward)


def compiled(function: Any) -> Any:
    return torch.compile(function, fullgraph=True, backend="aot_eager")


def test_under_compile(matmul: Any) -> None:
    x = torch.arange(48.0).reshape(6, 8)
    torch.testing.assert_close(matmul(x, x.T), x @ x.T)
    found = compiled(lambda a: matmul(a, a.T).relu() * 2)(x)
    torch.testing.assert_close(found, 2 * (x @ x.T))


def test_the_gradient_of_the_caller(matmul: Any) -> None:
    def gradients(call: Any) -> Any:
        a = torch.arange(12.0).reshape(3, 4).requires_grad_()
        b = torch.arange(8.0).reshape(4, 2).requires_grad_()
        call(a, b).square().sum().backward()
        return a.grad, b.grad

    for found, right in zip(
        gradients(compiled(matmul)), gradients(torch.matmul), strict=True
    ):
        torch.testing.assert_close(found, right)


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_what_pytorch_asks_of_operators(program: gcg.Program, matmul: Any) -> None:
    a = torch.rand(3, 4, requires_grad=True)
    torch.library.opcheck(matmul, (a, torch.rand(4, 2)))
    scale = gcg.torch.op("gcg_tests::scale", program.scale)
    torch.library.opcheck(scale, (torch.rand(5), 2.0))
    scale_ = gcg.torch.op("gcg_tests::scale_", program.scale, in_place=True)
    torch.library.opcheck(scale_, (torch.rand(5), 2.0))
    halves = gcg.torch.op("gcg_tests::halves", program.halves)
    torch.library.opcheck(halves, (torch.rand(4, dtype=torch.bfloat16),))


def test_in_place_and_not(program: gcg.Program) -> None:
    x = torch.arange(4.0)
    scale = gcg.torch.op("gcg_tests::scaled", program.scale)
    torch.testing.assert_close(compiled(lambda x: scale(x, 3.0))(x), 3 * x)
    scale_ = gcg.torch.op("gcg_tests::scaled_", program.scale, in_place=True)

    def twice(x: Any) -> Any:
        scale_(x, 2.0)
        return x + 1

    torch.testing.assert_close(compiled(twice)(x), 2 * torch.arange(4.0) + 1)
    torch.testing.assert_close(x, 2 * torch.arange(4.0))
    with pytest.raises(errors.InvalidOption, match="in place"):
        gcg.torch.op("gcg_tests::no", program.scale, in_place=True, backward=max)


def test_results_of_unknown_extents_are_refused(program: gcg.Program) -> None:
    unknown = gcg.torch.op("gcg_tests::unknown", program.unknown)
    with pytest.raises(errors.UnknownResult):
        unknown(torch.zeros(3, device="meta"), 3)
