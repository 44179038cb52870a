"""``gpucodegen.build``: builds MLIR step by step in Python.

Numbers and arrays are handles with Python's operators; each operation is built where
its line runs, which becomes its location.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects import func
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.verifier import verify
from gpucodegen.errors.warnings import caller
from gpucodegen.ir.locations import FileLoc
from gpucodegen.ir.operation import Operation, Value, single_block
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import arrays, reductions
from gpucodegen.python.arrays import Lazy, View
from gpucodegen.python.elementwise import apply
from gpucodegen.python.range_checks import Block, Role, convert
from gpucodegen.python.range_flags import after_loop, before_loop
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import NoRow, Scalar, known, united
from gpucodegen.python.types import ArrayType, element, of_annotation
from gpucodegen.python.units import argument, tidy

if TYPE_CHECKING:
    from gpucodegen.program import Program


def _operator(ufunc: np.ufunc, *, mirrored: bool = False) -> Any:
    """An operator method that applies a NumPy ufunc."""

    def combined(self: Any, *others: Any) -> Handle:
        values = (self, *others)
        return self.builder.call(ufunc, *(values[::-1] if mirrored else values))

    return combined


class Handle:
    """A number or an array of a function under construction."""

    def __init__(self, builder: Builder, value: Scalar | View | Lazy) -> None:
        self.builder = builder
        self.value = value

    __array_ufunc__ = None  # NumPy's numbers leave operators to this class
    __add__, __radd__ = _operator(np.add), _operator(np.add, mirrored=True)
    __sub__, __rsub__ = _operator(np.subtract), _operator(np.subtract, mirrored=True)
    __mul__, __rmul__ = _operator(np.multiply), _operator(np.multiply, mirrored=True)
    __truediv__, __rtruediv__ = (
        _operator(np.true_divide),
        _operator(np.true_divide, mirrored=True),
    )
    __floordiv__, __rfloordiv__ = (
        _operator(np.floor_divide),
        _operator(np.floor_divide, mirrored=True),
    )
    __mod__, __rmod__ = _operator(np.remainder), _operator(np.remainder, mirrored=True)
    __pow__, __rpow__ = _operator(np.power), _operator(np.power, mirrored=True)
    __neg__ = _operator(np.negative)
    __lt__ = _operator(np.less)
    __le__ = _operator(np.less_equal)
    __gt__ = _operator(np.greater)
    __ge__ = _operator(np.greater_equal)

    @property
    def shape(self) -> tuple[Handle, ...]:
        """Extents of an array."""
        extents = () if isinstance(self.value, Scalar) else self.value.extents
        return tuple(Handle(self.builder, extent) for extent in extents)

    def __getitem__(self, indices: Any) -> Handle:
        """``memref.load``."""
        b, view, places = self._element(indices)
        value = b.value("memref.load", (view.memory, *places), view.type.element)
        return Handle(self.builder, Scalar(view.dtype, value))

    def __setitem__(self, indices: Any, value: Any) -> None:
        """``memref.store``; ``a[...] = b`` is ``linalg.generic`` or ``linalg.fill``."""
        given = self.builder.value(value)
        if indices is ...:
            arrays.assign(self.builder.here(), given, self.builder.view(self.value))
            return
        b, view, places = self._element(indices)
        if not isinstance(given, Scalar):
            raise self.builder.wrong("an element", given, "Assign arrays to a[...]")
        try:
            number = convert(b, given, view.dtype).ssa(b)
        except NoRow:
            hint = "Use a wider type"
            raise self.builder.wrong("an element", given, hint) from None
        b.add("memref.store", (number, view.memory, *places))

    def __matmul__(self, other: Any) -> Handle:
        """The product of arrays, as ``linalg.generic``."""
        factors = [
            self.builder.view(v) for v in (self.value, self.builder.value(other))
        ]
        b = self.builder.here()
        return Handle(self.builder, reductions.product(b, factors[0], factors[1]))

    def _element(self, indices: Any) -> tuple[OperationList, View, list[Value]]:
        b, view = self.builder.here(), self.builder.view(self.value)
        entries = indices if is_tuple(indices) else (indices,)
        numbers = [self.builder.number(entry) for entry in entries]
        return b, view, [convert(b, n, int).ssa(b) for n in numbers]


class Builder:
    """Builder of a function; ``f["x"]`` is an argument, ``str(f)`` the MLIR.

    >>> import numpy as np
    >>> f = Builder("rows", {"a": "f32[:, :]", "sums": "f32[:]"})
    >>> with f.loop(f["a"].shape[0]) as i:
    ...     f["sums"][i] = 0
    ...     with f.loop(f["a"].shape[1]) as j:
    ...         f["sums"][i] = f["sums"][i] + f["a"][i, j]
    >>> sums = np.zeros(2, np.float32)
    >>> f.compile(target="cpu").rows(np.ones((2, 3), np.float32), sums)
    >>> sums
    array([3., 3.], dtype=float32)
    """

    def __init__(self, name: str, types: dict[str, str]) -> None:
        """A function with arguments of these types; see `build`."""
        self.name = name
        self._blocks: list[OperationList] = [OperationList()]
        self._values: list[Value] = []
        self._results: list[Value] = []
        self._arguments: dict[str, Handle] = {}
        for argument_name, text in types.items():
            kind = of_annotation(text)
            if kind is None:
                hint = "Write f32, i32, index or f32[:, 4], for example"
                raise errors.UntypedArgument(
                    name=argument_name, function=name, actual=repr(text), hint=hint
                )
            ty = kind.mlir if isinstance(kind, ArrayType) else element(kind)
            value = Value(ty, argument_name)
            self._values.append(value)
            made = argument(self._blocks[0], value, kind)
            self._arguments[argument_name] = Handle(self, made)

    def __getitem__(self, name: str) -> Handle:
        return self._arguments[name]

    def here(self) -> OperationList:
        """The open block, located at the line of the caller."""
        frame = caller()
        self._blocks[-1].location = FileLoc(frame.f_code.co_filename, frame.f_lineno)
        return self._blocks[-1]

    def value(self, item: Any) -> Scalar | View | Lazy:
        """The value of a handle; Python and NumPy numbers are constants."""
        return item.value if isinstance(item, Handle) else known(item)

    def number(self, item: Any) -> Scalar:
        """A number. Raises WrongOperand."""
        found = self.value(item)
        if not isinstance(found, Scalar):
            raise self.wrong("an index, a bound or a condition", found, "Use a number")
        return found

    def wrong(self, what: str, given: object, hint: str) -> errors.WrongOperand:
        """The error for an operand of the wrong type, at the caller's line."""
        place = self.here().location
        return errors.WrongOperand(place, what=what, types=given, hint=hint)

    def view(self, value: Scalar | View | Lazy) -> View:
        """An array in memory. Raises WrongOperand."""
        if isinstance(value, Scalar):
            raise self.wrong("an array operation", value, "Use an array")
        return arrays.in_memory(self.here(), value)

    def call(self, ufunc: np.ufunc, *items: Any) -> Handle:
        """A NumPy function of numbers, or of each element of arrays.

        >>> f = Builder("root", {"x": "f64"})
        >>> f.returns(f.call(np.sqrt, f["x"]))
        >>> f.compile(target="cpu").root(9.0)
        3.0
        """
        values = [self.value(item) for item in items]
        numbers = [v for v in values if isinstance(v, Scalar)]
        try:
            if len(numbers) == len(values):
                return Handle(self, apply(self.here(), ufunc, numbers))
            reductions.check_exponents(self.here(), ufunc, values)
            return Handle(self, arrays.mapped(ufunc, values))
        except (NoRow, arrays.Disagree):
            types = " and ".join(map(str, values))
            hint = "Use operands of types and shapes that NumPy takes"
            raise self.wrong(ufunc.__name__, types, hint) from None

    @contextmanager
    def loop(self, *bounds: Any) -> Generator[Handle]:
        """``scf.for`` over ``range(*bounds)``; later passes make it affine."""
        start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(
            len(bounds), bounds
        )
        b = self.here()
        numbers = [convert(b, self.number(n), int) for n in (start, stop, step)]
        operands = [number.ssa(b) for number in numbers]
        iv = Value(INDEX, "i", b.location)
        with self._block("loop") as inner:
            inner.variable, inner.own = iv, (iv,)
            inner.ends = numbers[0], numbers[1], numbers[2]
            yield Handle(self, Scalar(int, iv, limits=united(numbers[:2])))
            inner.add("scf.yield")
        flags = before_loop(b, inner)
        region = single_block(inner.operations, (iv,))
        b.add("scf.for", operands, (), {}, [region])
        after_loop(b, flags)

    @contextmanager
    def when(self, condition: Any) -> Generator[None]:
        """``scf.if``: operations built inside run if the condition holds."""
        b = self.here()
        truth = convert(b, self.number(condition), bool).ssa(b)
        with self._block("arm") as inner:
            yield
            inner.add("scf.yield")
        other = OperationList(b.location)
        other.add("scf.yield")
        regions = [single_block(ops.operations) for ops in (inner, other)]
        b.add("scf.if", (truth,), (), {}, regions)

    @contextmanager
    def _block(self, role: Role) -> Generator[Block]:
        outer = self._blocks[-1]
        inner = Block(outer.location, outer=outer, role=role)
        self._blocks.append(inner)
        yield inner
        self._blocks.pop()

    def zeros(self, dtype: str, *extents: Any) -> Handle:
        """A new array of zeros: ``memref.alloc`` and ``linalg.fill``."""
        b = self.here()
        sizes = tuple(convert(b, self.number(n), int) for n in extents)
        kind: Any = of_annotation(dtype)
        view = arrays.allocated(b, kind, sizes)
        arrays.fill(b, view, known(0))
        return Handle(self, view)

    def sum(self, item: Handle, axis: int | None = None) -> Handle:
        """The sum of an array over one axis or all, as ``linalg.generic``."""
        found, b = self.value(item), self.here()
        view = self.view(found) if isinstance(found, Scalar) else found
        rank = len(view.extents)
        axes = range(rank) if axis is None else [axis % rank]
        return Handle(self, reductions.reduced(b, reductions.SUM, view, axes))

    def returns(self, *items: Any) -> None:
        """The results of the function: numbers and arrays."""
        b = self.here()
        self._results = [
            v.ssa(b) if isinstance(v, Scalar) else self.view(v).memory
            for v in map(self.value, items)
        ]

    @property
    def module(self) -> Module:
        """The module, verified."""
        end = func.return_(self._results)
        body: Sequence[Operation] = tidy([*self._blocks[0].operations, end])
        types = [v.type for v in self._results]
        module = Module.of([func.func(self.name, self._values, types, body)])
        verify(module)
        return module

    def __str__(self) -> str:
        return str(self.module)

    def compile(self, **options: Any) -> Program:
        """The compiled program; options are those of `gpucodegen.compile`."""
        from gpucodegen.api import compile as compile_module

        return compile_module(self.module, **options)


def build(name: str, **types: str) -> Builder:
    """Start a function of MLIR: arguments by name, types as texts.

    Types are those of annotations of `gpucodegen.jit`: ``"f32"``, ``"index"``,
    ``"f64[:, 3]"``. Operators of handles build ``arith``, ``a[i]`` builds ``memref``,
    ``loop`` and ``when`` build ``scf``, and ``a[...] = b`` builds ``linalg``.

    >>> f = build("axpy", a="f32", x="f32[:]", y="f32[:]")
    >>> f["y"][...] = f["a"] * f["x"] + f["y"]
    >>> print(f)
    module {
      func.func @axpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) {
        linalg.generic {...} ins(%x, %y : ...) outs(%y : memref<?xf32>) {
        ^bb0(%x_0: f32, %y_0: f32, %y_1: f32):
          %0 = arith.mulf %a, %x_0 : f32
          %1 = arith.addf %0, %y_0 : f32
          linalg.yield %1 : f32
        }
        return
      }
    }
    """
    return Builder(name, types)
