"""Checks the arguments of a first call and converts them to values.

Input: a function's signature and a call's arguments, by position or keyword. Output: a
`Buffer` per array, a Python number per scalar, and the facts beyond the declared types
(extents, strides, alignment) for which the function is compiled. The module also makes
Python identifiers of MLIR names and the `inspect.Signature`.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import row_major
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import (
    Extents,
    Known,
    Parameter,
    alignment_of,
    allocated,
    scalar_conversion,
)
from gpucodegen.runtime.host.buffers import NUMPY_NAMES, Buffer, Expected, to_buffer


@dataclass(frozen=True, slots=True)
class Signature:
    """Names and types of a function's arguments, and types of its results."""

    function: str
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...] = ()

    def __str__(self) -> str:
        inner = ", ".join(f"{p.name}: {p.type}" for p in self.parameters)
        return f"{self.function}({inner})"

    def convert(self, arguments: Sequence[Any]) -> list[Any]:
        """Buffers and Python numbers; catalogued errors for invalid arguments."""
        if len(arguments) != len(self.parameters):
            raise errors.WrongArgumentCount(
                function=self.function,
                expected=len(self.parameters),
                actual=len(arguments),
                signature=str(self),
            )
        pairs = zip(arguments, self.parameters, strict=True)
        return [
            self._number(value, p) if p.shape is None else self._buffer(value, p)
            for value, p in pairs
        ]

    def _number(self, value: Any, parameter: Parameter) -> Any:
        convert = scalar_conversion(parameter.dtype)
        if convert is None:
            raise errors.UnsupportedType(type=parameter.type, target=CALLER)
        try:
            return convert(value)
        except Exception as problem:  # whatever the methods of an object raise
            raise errors.WrongArgumentType(
                function=self.function,
                argument=parameter.name,
                expected=_description(parameter.dtype),
                actual=_shown(value),
            ) from problem

    def _buffer(self, value: Any, parameter: Parameter) -> Buffer:
        if parameter.dtype not in NUMPY_NAMES:
            raise errors.UnsupportedType(type=parameter.type, target=CALLER)
        if parameter.is_unranked:
            return self._of_any_rank(value, parameter)
        declared, vector = parameter.shape or (), parameter.vector
        rank, size = len(declared), prod(vector)
        given = tuple(getattr(value, "shape", ()))
        shape, memory = _accepted(parameter, given if not vector else given[:rank])
        strides = parameter.strides
        if vector:
            shape = (*shape, *vector)
            strides = _in_numbers(strides, vector)
        elif strides is None and parameter.layout is None:
            strides = (
                None,
            ) * rank  # the kernel will be one for them, or work on a copy
        expected = Expected(parameter.name, parameter.dtype, shape, strides)
        buffer = to_buffer(value, expected, self.function)
        if memory != shape and not vector:
            return Buffer.of(buffer.array.reshape(memory), buffer.dtype)
        for stride in buffer.strides[:rank]:
            if stride % size:  # a vector would begin at a fraction of its size
                raise errors.WrongStride(
                    function=self.function,
                    argument=parameter.name,
                    expected=f"that are multiples of {size}",
                    actual=buffer.strides,
                    otherwise="",
                )
        return buffer

    def _of_any_rank(self, value: Any, parameter: Parameter) -> Buffer:
        """An array of any shape and strides."""
        rank = len(getattr(value, "shape", ()))
        expected = Expected(
            parameter.name, parameter.dtype, (None,) * rank, (None,) * rank
        )
        return to_buffer(value, expected, self.function)

    def known(self, values: Sequence[Any], widest: int) -> tuple[Known | None, ...]:
        """Facts of these values; None for a value whose type says everything.

        Facts are extents, strides, and up to ``widest`` bytes of alignment.
        """
        pairs = zip(self.parameters, values, strict=True)
        return tuple(_known(p, value, widest) for p, value in pairs)

    def row_major(self, known: Sequence[Known | None]) -> tuple[Known | None, ...]:
        """Facts of contiguous copies of these values."""
        pairs = zip(known, self.parameters, strict=True)
        return tuple(
            at if at is None or p.strides is not None else _as_declared(at, p)
            for at, p in pairs
        )

    def strided(self, values: Sequence[Any]) -> list[int]:
        """Positions of arrays that are not row-major although their types are."""
        pairs = enumerate(zip(values, self.parameters, strict=True))
        return [n for n, (value, p) in pairs if _odd_strides(p, value) is not None]

    def allocated(self, widest: int) -> tuple[Known | None, ...]:
        """Facts if all arrays are whole allocations of a device."""
        return allocated(self.parameters, widest)

    def refuse_read_only(self, values: Sequence[Any], written: Sequence[bool]) -> None:
        """Refuse the first read-only array that is written.

        Raises ReadOnlyArgument, and WrongStride for elements that share memory.
        """
        for p, value, is_written in zip(self.parameters, values, written, strict=True):
            if is_written and isinstance(value, Buffer) and not value.writable:
                raise errors.ReadOnlyArgument(function=self.function, argument=p.name)
            if is_written and isinstance(value, Buffer) and _folds(value):
                raise errors.WrongStride(
                    function=self.function,
                    argument=p.name,
                    expected="under which elements share no memory, as it is written",
                    actual=value.strides,
                    otherwise="",
                )


CALLER = "a call from Python"


def _accepted(parameter: Parameter, given: Extents) -> tuple[Extents, Extents]:
    """The shape a buffer must have, and that of its memory, if the layout is a map.

    The logical shape is accepted if the memory has as many elements.
    """
    declared, layout = parameter.shape or (), parameter.layout
    logical = given if _fits(given, declared) else declared
    if layout is None or layout.num_syms or None in logical:
        return declared, declared
    from gpucodegen.dialects.shared.memory import box
    from gpucodegen.ir.affine import Const

    extents = [Const(n or 0) for n in logical]
    memory = tuple(e.value for e in box(layout, extents) if isinstance(e, Const))
    is_full = prod(memory) == prod(e.value for e in extents)
    return logical if given == logical and is_full else memory, memory


def _fits(shape: Extents, pattern: Extents) -> bool:
    return len(shape) == len(pattern) and all(
        n in (None, m) for m, n in zip(shape, pattern, strict=True)
    )


def _in_numbers(strides: Extents | None, vector: tuple[int, ...]) -> Extents | None:
    """Strides between vectors, then within one, in elements.

    >>> _in_numbers((None, 1), (2, 8))
    (None, 16, 8, 1)
    """
    if strides is None:
        return None
    size = prod(vector)
    scaled = (None if stride is None else stride * size for stride in strides)
    return (*scaled, *(prod(vector[i + 1 :]) for i in range(len(vector))))


def _known(parameter: Parameter, value: Any, widest: int) -> Known | None:
    if parameter.shape is None or parameter.is_unranked:
        return None
    alignment = widest and alignment_of(value.pointer, widest)
    odd = _odd_strides(parameter, value)
    if parameter.is_fixed and odd is None:
        return Known(alignment=alignment) if alignment else None
    rank, size = len(parameter.shape), prod(parameter.vector)
    shape = tuple(map(int, value.shape[:rank]))
    if parameter.strides is None:
        return Known(shape, odd, alignment)
    strides = tuple(int(stride) // size for stride in value.strides[:rank])
    return Known(shape, strides, alignment)


def _as_declared(at: Known, parameter: Parameter) -> Known | None:
    """Facts of a row-major array of the same extents."""
    plain = Known(None if parameter.is_fixed else at.shape, None, at.alignment)
    return plain if plain != Known() else None


def _odd_strides(parameter: Parameter, value: Any) -> tuple[int, ...] | None:
    """The strides of an array that is not row-major although its type is."""
    if not isinstance(value, Buffer) or parameter.strides is not None:
        return None
    if parameter.layout is not None or parameter.vector or parameter.is_unranked:
        return None
    wanted = row_major(value.shape)
    if 0 in value.shape or value.strides == wanted:
        return None
    rows = zip(value.shape, value.strides, wanted, strict=True)
    return value.strides if any(n > 1 and s != w for n, s, w in rows) else None


def _folds(buffer: Buffer) -> bool:
    """Whether two elements may share an address.

    They cannot if each stride exceeds the span of all shorter strides.

    >>> import numpy as np
    >>> a = np.zeros(8)
    >>> windows = np.lib.stride_tricks.as_strided(a, (4, 4), (8, 8))
    >>> _folds(Buffer.of(a[::-2], "f64")), _folds(Buffer.of(windows, "f64"))
    (False, True)
    """
    pairs = zip(buffer.strides, buffer.shape, strict=True)
    reach = 0
    for stride, extent in sorted((abs(s), n) for s, n in pairs if n > 1):
        if stride <= reach:
            return 0 not in buffer.shape
        reach += stride * (extent - 1)
    return False


def _description(dtype: str) -> str:
    if dtype == "index":
        return "an integer of 64 bits (index)"
    return f"{'an integer' if dtype.lstrip('su')[:1] == 'i' else 'a number'} ({dtype})"


def _shown(value: object) -> str:
    """The type and the start of a value, for messages.

    >>> _shown("2"), _shown(10**99)[:24]
    ("str '2'", 'int 10000000000000000000')
    """
    try:
        text = f"{value!r:.40}"
    except Exception:  # noqa: BLE001 - as far as the object tells it
        text = ""
    return f"{type(value).__name__} {text}".rstrip()


OPTIONS = "out", "stream"
"""Keywords that are not arguments of the function."""


def python_names(parameters: Sequence[Parameter]) -> tuple[str, ...]:
    """An identifier for each argument: its MLIR name if that is valid.

    >>> from gpucodegen.runtime.host.arguments import Parameter
    >>> given = "A", "a-b", "0", "in", "out", "A"
    >>> python_names([Parameter(name, "f32", "f32") for name in given])
    ('A', 'a_b', 'arg2', 'in_', 'out_', 'A_')
    """
    names: list[str] = []
    for n, parameter in enumerate(parameters):
        name = re.sub(r"\W", "_", parameter.name)
        name = name if name.isidentifier() else f"arg{n}"
        while keyword.iskeyword(name) or name in OPTIONS or name in names:
            name += "_"
        names.append(name)
    return tuple(names)


def python_signature(signature: Signature) -> inspect.Signature:
    """The `inspect.Signature` of a function; annotations are MLIR types."""
    either, after = (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )
    pairs = zip(python_names(signature.parameters), signature.parameters, strict=True)
    given = [inspect.Parameter(name, either, annotation=p.type) for name, p in pairs]
    options = [inspect.Parameter(name, after, default=None) for name in OPTIONS]
    types = [result.type for result in signature.results]
    returned = types[0] if len(types) == 1 else f"({', '.join(types)})"
    return inspect.Signature(
        [*given, *options], return_annotation=returned if types else None
    )


def in_order(
    signature: Signature, given: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Positional and keyword arguments of a call in order.

    Raises WrongArgumentName, WrongArgumentCount.
    """
    names = python_names(signature.parameters)
    later = dict.fromkeys(names[len(given) :])
    for name in named:
        if name not in later:
            problem = "is given twice" if name in names else "does not exist"
            raise errors.WrongArgumentName(
                function=signature.function,
                argument=name,
                problem=problem,
                signature=str(signature),
            )
    ordered = (*given, *(named[name] for name in later if name in named))
    if len(ordered) != len(names):
        raise errors.WrongArgumentCount(
            function=signature.function,
            expected=len(names),
            actual=len(ordered),
            signature=str(signature),
        )
    return ordered


class Shown:
    """Descriptor of a function's ``__signature__``; its class has none.

    >>> import gpucodegen as gcg
    >>> f = gcg.compile("func.func @f(%x: f32, %n: i8) -> f32 { return %x : f32 }").f
    >>> print(inspect.signature(f))
    (x: 'f32', n: 'i8', *, out=None, stream=None) -> 'f32'
    """

    def __get__(self, instance: Any, owner: type[Any]) -> inspect.Signature:
        if instance is None:
            raise AttributeError(owner)
        return python_signature(instance.signature)
