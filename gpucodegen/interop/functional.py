"""A function of a program without side effects: written arguments become results.

Input: a function, and facts of its arguments. Output: extents and elements of its
results, and calls that leave their arguments unchanged. Tracing frameworks use the
former to infer shapes and the latter to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.foreign_calls import several_of
from gpucodegen.calls.function import Function
from gpucodegen.compiling.targets import registry
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import Known, Parameter, specialized
from gpucodegen.runtime.host.buffers import NUMPY_NAMES
from gpucodegen.tiling.machine.gpu.devices import ALLOCATED


class Made(NamedTuple):
    """One result: its extents, and the name of its elements in NumPy or ml_dtypes."""

    shape: tuple[int, ...]
    dtype: str


class Source(NamedTuple):
    """The origin of a result: the argument that holds it, or the function's return."""

    argument: int | None
    result: int | None


Shape = tuple[int, ...]


@dataclass(slots=True)
class Functional:
    """Results of a function: written arguments in order, then returned values.

    An argument that is written and returned appears once. The arguments of a call keep
    their contents.

    >>> import gpucodegen as gcg
    >>> double = Functional(gcg.compile('''
    ... func.func @double(%x: memref<?xf32>) {
    ...   %c0 = arith.constant 0 : index
    ...   %n = memref.dim %x, %c0 : memref<?xf32>
    ...   affine.for %i = 0 to %n {
    ...     %v = affine.load %x[%i] : memref<?xf32>
    ...     %w = arith.addf %v, %v : f32
    ...     affine.store %w, %x[%i] : memref<?xf32>
    ...   }
    ...   return
    ... }''', target="cpu").double)
    >>> x = np.arange(3, dtype=np.float32)
    >>> double.made([(3,)])
    (Made(shape=(3,), dtype='float32'),)
    >>> double(x), x
    ((array([0., 2., 4.], dtype=float32),), array([0., 1., 2.], dtype=float32))
    """

    function: Function
    _made: dict[object, tuple[Made, ...]] = field(
        default_factory=dict[object, "tuple[Made, ...]"]
    )
    _sources: tuple[Source, ...] | None = None

    def made(self, shapes: Sequence[Shape | None]) -> tuple[Made, ...]:
        """The results for arguments of these extents; None for a number.

        Raises UnknownResult if the extents of a result depend on other values.
        """
        key = tuple(shapes)
        if key not in self._made:
            self._made[key] = self._results(key)
        return self._made[key]

    def sources(self, shapes: Sequence[Shape | None] | None = None) -> Sequence[Source]:
        """The origin of each result; the first call compiles the function."""
        if self._sources is None:
            written = self._written(shapes)
            returned = self._returned()
            parameters = self.function.signature.parameters
            held = [
                n
                for n, (p, is_written) in enumerate(
                    zip(parameters, written, strict=True)
                )
                if is_written and not p.is_value
            ]
            self._sources = (
                *(Source(n, None) for n in held),
                *(Source(None, k) for k, n in enumerate(returned) if n not in held),
            )
        return self._sources

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The results of a call on NumPy arrays, or tensors of PyTorch."""
        sources = self.sources([_shape(a) for a in arguments])
        held = list(arguments)
        for source in sources:
            if source.argument is not None:
                held[source.argument] = _copied(arguments[source.argument])
        several = several_of(self.function(*held))
        return tuple(_out(source, held, several, arguments) for source in sources)

    def _written(self, shapes: Sequence[Shape | None] | None) -> tuple[bool, ...]:
        """Which arguments are written; for the interpreter, as compiled for the CPU."""
        function = self.function
        target = registry.chosen(function.options.target, ())
        name = "cpu" if target.interprets else target.name
        known = None
        if shapes is not None:
            pairs = zip(function.signature.parameters, shapes, strict=True)
            widest = registry.find(name).widest
            known = tuple(_known(p, shape, widest) for p, shape in pairs)
        return function.executable(name, known).artifact.written

    def _returned(self) -> list[int | None]:
        """For each result, the argument that it is, or None."""
        view = self.function.view
        arguments = list(view.arguments)
        last = view.operation.regions[0].blocks[-1].operations[-1]
        return [arguments.index(v) if v in arguments else None for v in last.operands]

    def _results(self, shapes: tuple[Shape | None, ...]) -> tuple[Made, ...]:
        signature = self.function.signature
        made: list[Made] = []
        extents: Sequence[tuple[int | None, ...]] | None = None
        for source in self.sources(shapes):
            if source.argument is not None:
                shape = shapes[source.argument]
                assert shape is not None
                p = signature.parameters[source.argument]
                made.append(Made(shape, NUMPY_NAMES[p.dtype][0]))
                continue
            assert source.result is not None
            p = signature.results[source.result]
            found = p.shape or ()
            if None in found:
                extents = self._extents(shapes) if extents is None else extents
                found = extents[source.result]
            if None in found:
                raise errors.UnknownResult(
                    function=self.function.name, number=source.result, type=p.type
                )
            known = tuple(n for n in found if n is not None)
            made.append(Made(known, NUMPY_NAMES[p.dtype][0]))
        return tuple(made)

    def _extents(
        self, shapes: Sequence[Shape | None]
    ) -> Sequence[tuple[int | None, ...]]:
        """Extents of results, inferred from those of arguments."""
        from gpucodegen.compiling.pipeline import front_passes
        from gpucodegen.dialects.func import Function as View
        from gpucodegen.passes.framework.base import run_pipeline
        from gpucodegen.passes.framework.functions import reachable

        module, name = self.function.source.module, self.function.name
        types = View(module.functions[name]).type.inputs
        known = [None if shape is None else Known(shape) for shape in shapes]
        passes = front_passes(name, specialized(types, known))
        last = [pass_.name for pass_ in passes].index("specialize")
        special = run_pipeline(reachable(module, name), passes[: last + 1])
        results = View(special.functions[name]).type.results
        return [tuple(getattr(ty, "shape", ())) for ty in results]


def _known(p: Parameter, shape: Shape | None, widest: int) -> Known | None:
    """Facts of a whole array of these extents."""
    if p.shape is None or shape is None:
        return None
    alignment = ALLOCATED if widest else 0
    known = Known(None if p.is_fixed else shape, None, alignment)
    return known if known != Known() else None


def _shape(argument: Any) -> Shape | None:
    shape = getattr(argument, "shape", None)
    return None if shape is None else tuple(map(int, shape))


def _copied(argument: Any) -> Any:
    """A writable array of the same contents."""
    if hasattr(argument, "clone"):  # of PyTorch
        return argument.detach().clone()
    return argument.copy() if hasattr(argument, "get") else np.array(argument)


def _out(
    source: Source, held: Sequence[Any], results: Sequence[Any], given: Sequence[Any]
) -> Any:
    """One result; an argument that is returned unwritten is copied."""
    if source.argument is not None:
        return held[source.argument]
    assert source.result is not None
    result = results[source.result]
    return _copied(result) if any(result is each for each in given) else result


def signature_of(function: Function, arguments: Sequence[Any]) -> list[Shape | None]:
    """Extents of the arguments of a call.  Raises WrongArgumentCount."""
    parameters = function.signature.parameters
    if len(parameters) != len(arguments):
        raise errors.WrongArgumentCount(
            function=function.name,
            expected=len(parameters),
            actual=len(arguments),
            signature=str(function.signature),
        )
    pairs = zip(parameters, arguments, strict=True)
    return [None if p.shape is None else _shape(a) for p, a in pairs]
