"""Calls of the interpreter: converts arrays and numbers to values and back.

Unlike compiled targets it accepts vectors, buffers of any rank, and integers of odd
widths in the next wider NumPy type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.signature import Signature
from gpucodegen.interp.buffers import Box, MemRef, contiguous
from gpucodegen.interp.memref import zeros
from gpucodegen.interp.values import canonical, element, is_array
from gpucodegen.ir.attributes import AffineMapAttr, StridedLayoutAttr
from gpucodegen.ir.types import (
    I1,
    AnyShaped,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    VectorType,
    element_type,
)
from gpucodegen.runtime.host.arguments import Parameter
from gpucodegen.runtime.host.buffers import NUMPY_NAMES, Buffer

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.options import Options


def launcher(
    module: Module,
    signature: Signature,
    options: Options,
    arguments: Sequence[Any],
    *,
    arbitrary: bool = False,
) -> Callable[[], Any]:
    """Check a call; the returned callable runs it.

    StableHLO and TOSA are converted to linalg first, since the interpreter knows MLIR's
    own dialects only. ``arbitrary``: fresh memory may be read, as in
    `gpucodegen.interp.functions`.
    """
    from gpucodegen.compiling.pipeline import text_of_others
    from gpucodegen.compiling.targets.interp import INTERP
    from gpucodegen.dialects.func import Function
    from gpucodegen.passes.framework.base import run_pipeline

    declared = Function(module.functions[signature.function]).type.results
    module = run_pipeline(module, text_of_others(options.outside))
    refuses_nan = INTERP.sanitizes(options)
    view = Function(module.functions[signature.function])
    types, count = view.type.inputs, len(signature.parameters)
    if len(arguments) != count:
        signature.convert(arguments)
    values = [
        _value(signature.function, p, ty, a)
        for p, ty, a in zip(signature.parameters, types, arguments, strict=True)
    ]
    values, copies = _in_rows(signature, types, values, module)

    def call() -> Any:
        from gpucodegen.interp.functions import interpret

        fresh = [v.copy() if is_array(v) else v for v in values]
        for given, copy in copies:
            copy.memory.flags.writeable = True
            copy.elements()[...] = given.elements()
            copy.memory.flags.writeable = given.memory.flags.writeable
        try:
            made = interpret(
                module,
                signature.function,
                fresh,
                options.outside,
                refuses_nan=refuses_nan,
                arbitrary=arbitrary,
            )
        except ValueError as problem:
            raise _read_only(signature, values) or problem from problem
        finally:
            for given, copy in copies:
                if copy.memory.flags.writeable:
                    given.elements()[...] = copy.elements()
        pairs = zip(made, declared, strict=True)
        shown = tuple(_returned(v, ty, values, arguments) for v, ty in pairs)
        return None if not shown else shown[0] if len(shown) == 1 else shown

    return call


_RENUMBERING = frozenset(
    "memref.cast memref.collapse_shape memref.expand_shape memref.reinterpret_cast"
    " memref.reshape memref.subview memref.view memref.extract_strided_metadata"
    " vector.type_cast".split()
)
"""Operations that address elements by the strides of their types."""


def _in_rows(
    signature: Signature, types: Sequence[Type], values: Sequence[Any], module: Module
) -> tuple[list[Any], list[tuple[MemRef, MemRef]]]:
    """Values with the strides of their types, and the copies among them.

    Arrays that are not row-major are copied, as for compiled targets, unless they share
    elements with another argument. Raises WrongStride.
    """
    made = list(values)
    copies: list[tuple[MemRef, MemRef]] = []
    for n, (ty, value) in enumerate(zip(types, values, strict=True)):
        if not isinstance(ty, MemRefType) or ty.layout is not None:
            continue
        rows = contiguous(value.shape)
        pairs = zip(value.shape, value.strides, rows, strict=True)
        if not value.memory.size or all(e == 1 or s == r for e, s, r in pairs):
            continue
        others = (v for m, v in enumerate(values) if m != n and isinstance(v, MemRef))
        if not any(np.may_share_memory(value.memory, o.memory) for o in others):
            extents = (prod(value.shape), *value.memory.shape[1:])
            memory = np.empty(extents, value.memory.dtype)
            made[n] = MemRef(memory, value.type, value.shape, rows)
            copies.append((value, made[n]))
        elif any(op.name in _RENUMBERING for op in module.walk()):
            raise errors.WrongStride(
                function=signature.function,
                argument=signature.parameters[n].name,
                expected=rows,
                actual=value.strides,
                otherwise="",
            )
    return made, copies


def _read_only(signature: Signature, values: Sequence[Any]) -> errors.Error | None:
    """The error for the first read-only array, once NumPy refused a write."""
    for p, value in zip(signature.parameters, values, strict=True):
        if isinstance(value, MemRef) and not value.memory.flags.writeable:
            return errors.ReadOnlyArgument(function=signature.function, argument=p.name)
    return None


def _value(function: str, parameter: Parameter, ty: Type, argument: Any) -> Any:
    is_known = parameter.dtype in NUMPY_NAMES and parameter.shape is not None
    if isinstance(ty, AnyShaped) and not is_known:
        return _other(function, parameter, ty, argument)
    one = Signature(function, (parameter,))
    (value,) = one.convert((argument,))
    if not isinstance(value, Buffer):
        return canonical(int(value) if ty == I1 else value, ty)
    if not is_array(value.array):
        raise errors.WrongDevice(
            function=function,
            argument=parameter.name,
            actual=value.device,
            expected="the CPU",
        )
    if isinstance(ty, TensorType | VectorType):
        stored = element(element_type(ty)).dtype
        return value.array.copy().view(stored)
    if isinstance(ty, UnrankedMemRefType):
        return memref_of(value.array, ty.element)
    assert isinstance(ty, MemRefType)
    return _buffer(value.array, ty, parameter)


def _other(function: str, parameter: Parameter, ty: Type, argument: Any) -> Any:
    """Vectors, buffers and tensors of any rank, elements of odd widths."""
    stored = element(element_type(ty))
    array = np.asarray(argument)
    if array.dtype != stored.dtype:
        raise errors.WrongDtype(
            function=function,
            argument=parameter.name,
            expected=stored.dtype,
            actual=array.dtype,
        )
    shape = getattr(ty, "shape", None)
    if shape is not None:
        _check_shape(function, parameter, shape, array.shape)
    if isinstance(ty, MemRefType | UnrankedMemRefType):
        return memref_of(array, element_type(ty))
    return array


def _check_shape(
    function: str,
    parameter: Parameter,
    wanted: Sequence[int | None],
    shape: Sequence[int],
) -> None:
    if len(wanted) != len(shape):
        raise errors.WrongArgumentRank(
            function=function,
            argument=parameter.name,
            expected=len(wanted),
            actual=len(shape),
        )
    for d, (want, have) in enumerate(zip(wanted, shape, strict=True)):
        if want not in (None, have):
            raise errors.WrongExtent(
                function=function,
                argument=parameter.name,
                expected=want,
                dimension=d,
                actual=have,
                shape=tuple(wanted),
            )


def _buffer(array: Any, ty: MemRefType, parameter: Parameter) -> MemRef:
    """The memory of an array; its layout may be a map."""
    layout = parameter.layout
    if layout is not None and not layout.num_syms and None not in ty.shape:
        shape = tuple(n or 0 for n in ty.shape)
        line = memref_of(array, ty.element)
        box = Box(layout, array.shape[: len(layout.results)])
        return replace(line, shape=shape, strides=contiguous(shape), box=box)
    made = memref_of(array, ty.element)
    if isinstance(ty.layout, AffineMapAttr) and not ty.layout.map.num_syms:
        like = zeros(replace(ty, shape=made.shape), ())
        return replace(like, memory=made.memory)
    is_strided = isinstance(ty.layout, StridedLayoutAttr)
    offset = (ty.layout.offset or 0) if is_strided else 0  # type: ignore[union-attr]
    return replace(made, base=made.start - offset)


def memref_of(array: Any, ty: Type) -> MemRef:
    """A view of all memory between the first and the last element of an array.

    >>> from gpucodegen.ir.types import F32
    >>> m = memref_of(np.arange(6, dtype="f4")[::-2], F32)
    >>> m.shape, m.strides, m.start, m.load((1,))
    ((3,), (-2,), 4, 3.0)
    """
    stored = element(ty)
    if array.dtype.str[1:] == f"u{stored.dtype.itemsize}" and stored.dtype.kind == "i":
        array = array.view(stored.dtype)  # signless: the same bits as signed numbers
    inner = stored.inner
    rank = array.ndim - len(inner)
    unit = array.itemsize * prod(inner)
    shape = array.shape[:rank]
    if not array.size:
        return MemRef(array.reshape((0, *inner)), ty, shape, contiguous(shape))
    strides = tuple(s // unit for s in array.strides[:rank])
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    below, above = (
        sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    )  # fmt: skip
    lowest = tuple(
        slice(n - 1, None) if s < 0 else slice(None)
        for n, s in zip(shape, strides, strict=True)
    )
    memory = np.lib.stride_tricks.as_strided(
        array[(*lowest, ...)],
        (above - below + 1, *inner),
        (unit, *array.strides[rank:]),
    )
    return MemRef(memory, ty, shape, strides, -below, -below)


def _returned(
    value: Any, ty: Type, values: Sequence[Any], arguments: Sequence[Any]
) -> Any:
    """The caller's array if an argument is returned; other arrays are new."""
    if isinstance(value, MemRef):
        for given, argument in zip(values, arguments, strict=True):
            if given is value:
                return argument
        return value.array().copy()
    if is_array(value):
        return np.array(value).view(element(element_type(ty)).dtype)
    if isinstance(ty, IntegerType):
        value = canonical(value, ty)
    return bool(value) if ty == I1 else value
