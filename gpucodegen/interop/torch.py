"""Functions of programs as operators of PyTorch, also under `torch.compile`.

A function becomes a `torch.library.custom_op` with a shape function, so that PyTorch
traces it without a call, and with the caller's gradient. Tensors are accessed in place,
on the CPU or on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from gpucodegen import errors
from gpucodegen.calls.foreign_calls import several_of
from gpucodegen.calls.function import Function
from gpucodegen.calls.signature import python_names
from gpucodegen.interop.functional import Functional, Source, signature_of
from gpucodegen.runtime.host.arguments import Parameter
from gpucodegen.runtime.host.buffers import NUMPY_NAMES

Backward = Callable[[tuple[Any, ...], Any, Any], Any]
"""Arguments, result and the result's gradient -> a gradient for each argument."""


def op(
    name: str,
    function: Function,
    *,
    in_place: bool = False,
    backward: Backward | None = None,
) -> Any:
    """Register a function as the operator ``name``, such as "mine::matmul".

    The operator returns the arrays that the function writes, in the order of its
    arguments, and then its returned values: one tensor, or a tuple of several; its
    arguments keep their contents. ``in_place``: it writes into its arguments, and
    returns only what the function returns.

    ``backward``: a function of the arguments, the result and the result's gradient,
    which returns a gradient for each argument, or None. Operators in place have none.

    Raises InvalidOption, UnknownResult if a call is traced, and the errors of a call.
    """
    torch: Any = import_module("torch")

    if in_place and backward is not None:
        hint = "PyTorch has no gradients of operators in place: leave one of them out"
        raise errors.InvalidOption(name="backward", value=backward, hint=hint)
    functional = Functional(function)
    sources = functional.sources()
    parameters = function.signature.parameters
    if in_place:
        results = [s for s in sources if s.argument is None]
        written = {s.argument for s in sources}
    else:
        results, written = list(sources), set[int | None]()

    kinds = [_element(function, s) for s in results]

    def run(*given: Any) -> Any:
        with torch.no_grad():
            if not in_place:
                return _several(_tensors(torch, functional(*given), kinds, given))
            several = several_of(function(*given))
            chosen = [several[s.result] for s in results if s.result is not None]
            return _several(_tensors(torch, chosen, kinds, given))

    def fake(*given: Any) -> Any:
        made = functional.made(signature_of(function, given))
        chosen = [m for m, s in zip(made, sources, strict=True) if s in results]
        place = next(a.device for a in given if isinstance(a, torch.Tensor))
        return _several(
            tuple(
                torch.empty(m.shape, dtype=getattr(torch, m.dtype), device=place)
                for m in chosen
            )
        )

    called = python_names(parameters)
    schema = _schema(called, parameters, results, written)
    names = [n for n, _ in enumerate(parameters) if n in written]
    mutated = [called[n] for n in names]
    made = torch.library.custom_op(name, run, mutates_args=mutated, schema=schema)
    made.register_fake(fake)
    if backward is not None:
        _differentiate(made, backward)
    return made


def _differentiate(made: Any, backward: Backward) -> None:
    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        tensors = [a for a in inputs if hasattr(a, "requires_grad")]
        several = several_of(output)
        ctx.save_for_backward(*tensors, *several)
        ctx.others = [None if hasattr(a, "requires_grad") else a for a in inputs]
        ctx.places = [n for n, a in enumerate(inputs) if hasattr(a, "requires_grad")]

    def gradients(ctx: Any, *given: Any) -> Any:
        count = len(ctx.places)
        inputs, results = list(ctx.others), ctx.saved_tensors[count:]
        for n, tensor in zip(ctx.places, ctx.saved_tensors[:count], strict=True):
            inputs[n] = tensor
        return backward(tuple(inputs), _several(results), _several(given))

    made.register_autograd(gradients, setup_context=keep)


def _several(made: Sequence[Any]) -> Any:
    """No result, one result, or a tuple."""
    if not made:
        return None
    return made[0] if len(made) == 1 else tuple(made)


def _element(function: Function, source: Source) -> str:
    """PyTorch's element type of a result."""
    signature = function.signature
    if source.argument is not None:
        return NUMPY_NAMES[signature.parameters[source.argument].dtype][0]
    assert source.result is not None
    return NUMPY_NAMES[signature.results[source.result].dtype][0]


def _tensors(
    torch: Any, made: Sequence[Any], kinds: Sequence[str], given: Sequence[Any]
) -> tuple[Any, ...]:
    """Results as tensors; numbers become tensors of rank 0."""
    place = next(a.device for a in given if isinstance(a, torch.Tensor))

    def tensor(one: Any, kind: str) -> Any:
        if isinstance(one, torch.Tensor):
            return one
        return torch.tensor(one, dtype=getattr(torch, kind), device=place)

    return tuple(map(tensor, made, kinds))


def _schema(
    names: Sequence[str],
    parameters: Sequence[Parameter],
    results: Sequence[Source],
    written: set[int | None],
) -> str:
    """The operator's schema, as PyTorch writes it.

    >>> from gpucodegen.runtime.host.arguments import Parameter
    >>> x, n = Parameter("x", "memref<4xf32>", "f32", (4,)), Parameter("n", "i8", "i8")
    >>> _schema(("x", "n"), (x, n), (Source(None, 0),), {0})
    '(Tensor(a0!) x, int n) -> Tensor'
    """
    given = [
        f"{_kind(n, p, written)} {name}"
        for n, (name, p) in enumerate(zip(names, parameters, strict=True))
    ]
    made = ", ".join("Tensor" for _ in results)
    return f"({', '.join(given)}) -> {made if len(results) == 1 else f'({made})'}"


def _kind(number: int, parameter: Parameter, written: set[int | None]) -> str:
    if parameter.shape is not None:
        return f"Tensor(a{number}!)" if number in written else "Tensor"
    if parameter.dtype == "i1":
        return "bool"
    is_integer = parameter.dtype == "index" or parameter.dtype.lstrip("su")[0] == "i"
    return "int" if is_integer else "float"
