"""Names of the polyhedral model as values of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.analysis.lifting import Lifted
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.tiling.model.scop import loops
from gpucodegen.tiling.schedule.promotion import Linear


@dataclass(slots=True)
class Scope:
    """What the parameters and outer loops of a nest are called outside of the model.

    ``before`` collects the numbers and extents that were asked for; it belongs before
    the nest.
    """

    lifted: Lifted
    values: dict[str, Value]
    before: Builder
    constants: dict[int, Value] = field(default_factory=dict[int, Value])
    extents: dict[tuple[Value, int], Value] = field(
        default_factory=dict[tuple[Value, int], Value]
    )

    @staticmethod
    def of(lifted: Lifted, chain: Sequence[Operation]) -> Scope:
        """The scope inside of the loops of ``chain``."""
        ivs = {
            loop.name: affine.For(op).iv
            for loop in loops(lifted.scop.body)
            for op in chain
            if loop.payload is op
        }
        return Scope(lifted, lifted.parameters | ivs, Builder(chain[0].location))

    def index(self, linear: Linear, inner: Mapping[str, Index] | None = None) -> Index:
        """A function of the model as index expression; ``inner`` names come first."""
        total = ZERO
        for name, factor in linear.terms:
            known = (inner or {}).get(name)
            item = known if known is not None else Index.of(self._value(name))
            total = total + item * factor
        total = total + linear.constant
        return total if linear.divisor == 1 else total // linear.divisor

    def constant(self, number: int) -> Value:
        """A number before the nest."""
        if number not in self.constants:
            self.constants[number] = self.before.constant(number, INDEX)
        return self.constants[number]

    def extent(self, memref: Value, dimension: int) -> Value:
        """``memref.dim`` before the nest, or the number that it is."""
        assert isinstance(memref.type, MemRefType)
        known = memref.type.shape[dimension]
        if known is not None:
            return self.constant(known)
        if (memref, dimension) not in self.extents:
            operands = (memref, self.constant(dimension))
            (value,) = self.before.add("memref.dim", operands, [INDEX], hint="extent")
            self.extents[memref, dimension] = value
        return self.extents[memref, dimension]

    def _value(self, name: str) -> Value:
        """A loop variable, a parameter, or the extent of a buffer."""
        if name not in self.values:
            self.values[name] = next(
                self.extent(self.lifted.arrays[array.name], dimension)
                for array in self.lifted.scop.arrays
                for dimension, extent in enumerate(array.shape)
                if extent == name
            )
        return self.values[name]
