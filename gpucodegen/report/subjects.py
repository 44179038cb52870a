"""Subjects of an explanation: a function's affine nests with all proven facts.

`subject` takes a module and returns a `Subject`, the function as affine nests on
buffers, with a `Nest` per outermost loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from warnings import catch_warnings, simplefilter

from gpucodegen import errors
from gpucodegen.compiling.pipeline import front_passes
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.functions import reachable
from gpucodegen.passes.prepare.tensors.bufferize import Bufferize
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.contraction import ContractionShape, contractions
from gpucodegen.tiling.model.relations import Instances, Model, model
from gpucodegen.tiling.model.scop import If, Loop, Node, loops, statements
from gpucodegen.tiling.proof.array_bounds import Violation, violations
from gpucodegen.tiling.proof.dependences import Dependence, dependences
from gpucodegen.tiling.proof.flow import UndefinedRead, undefined_reads
from gpucodegen.tiling.proof.legality import Band, bands
from gpucodegen.tiling.proof.liveness import (
    LoopValues,
    LoopVerdict,
    loop_verdicts,
    parts,
    values,
    with_privatisation,
)

ANSWERED_HERE = frozenset({"check-bounds", "check-reads"})
"""Passes that only warn or refuse: their findings are part of the explanation."""


@dataclass(frozen=True, slots=True)
class Nest:
    """An outermost loop and the facts proven about its loops."""

    loop: Loop
    model: Model
    dependences: tuple[Dependence, ...]
    verdicts: tuple[LoopVerdict, ...]
    bands: tuple[Band, ...]
    contractions: tuple[ContractionShape, ...]
    parts: tuple[LoopValues, ...]
    arrays: Mapping[str, Value]

    @property
    def location(self) -> Location:
        return location_of(self.loop)

    @property
    def statements(self) -> tuple[Instances, ...]:
        """The statements inside, in textual order."""
        names = {statement.name for statement in statements((self.loop,))}
        return tuple(s for s in self.model.statements if s.name in names)

    def verdict(self, loop: Loop) -> LoopVerdict:
        return next(v for v in self.verdicts if v.loop.name == loop.name)

    def band_of(self, loop: Loop) -> Band:
        """The band that holds one of its loops."""
        return next(band for band in self.bands if loop.name in band.names)


@dataclass(frozen=True, slots=True)
class Subject:
    """A function: its nests, suspect accesses, parameters.

    ``names``: per parameter of the analysis, its names in the program. ``copies``: the
    tensors that bufferization copied, and why.
    """

    name: str
    operation: Operation
    nests: tuple[Nest, ...]
    violations: tuple[Violation, ...]
    undefined: tuple[UndefinedRead, ...]
    names: Mapping[str, tuple[str, ...]]
    shapes: tuple[tuple[int | str | None, ...] | None, ...]
    """Per argument, the extents of its buffer, or None for a scalar."""
    copies: tuple[errors.TensorCopied, ...] = ()

    @property
    def location(self) -> Location:
        return self.operation.location


def subject(module: Module, name: str) -> Subject:
    """The function ``name`` as affine nests on buffers, analysed.

    >>> import gpucodegen as gcg
    >>> text = '''func.func @f(%A: memref<?xf32>, %v: f32) {
    ...   %c0 = arith.constant 0 : index
    ...   %N = memref.dim %A, %c0 : memref<?xf32>
    ...   affine.for %i = 0 to %N {
    ...     affine.store %v, %A[%i] : memref<?xf32>
    ...   }
    ...   return
    ... }'''
    >>> function = subject(gcg.parse(text), "f")
    >>> function.nests[0].verdicts[0].kind.value, dict(function.names)
    ('parallel', {'N': ('A_size0', 'N')})
    """
    arguments = module.functions[name].regions[0].blocks[0].arguments
    front = front_passes(name, (None,) * len(arguments))
    passes = [
        replace(pass_, report=True) if isinstance(pass_, Bufferize) else pass_
        for pass_ in front
        if pass_.name not in ANSWERED_HERE
    ]
    with catch_warnings(record=True) as told:
        simplefilter("always")
        affine = run_pipeline(reachable(module, name), passes)
    messages = [warning.message for warning in told]
    copies = [m for m in messages if isinstance(m, errors.TensorCopied)]
    for message in messages:
        if message not in copies:
            errors.tell(message)
    operation = affine.functions[name]
    lifted = lift_function(operation, Surroundings.of(affine))
    built = model(lifted.scop)
    proven = _Proven.of(built)
    made_from = {value: name for name, value in lifted.arrays.items()}
    shapes = {array.name: array.shape for array in lifted.scop.arrays}
    return Subject(
        name,
        operation,
        tuple(
            proven.nest(loop, lifted.arrays) for loop in _outermost(lifted.scop.body)
        ),
        violations(built),
        undefined_reads(built),
        _names(module, operation, lifted.scop.parameters, made_from, shapes),
        tuple(
            shapes.get(made_from.get(value, "")) if _is_buffer(value) else None
            for value in operation.regions[0].blocks[0].arguments
        ),
        tuple(copies),
    )


def location_of(node: object) -> Location:
    """The source location of a loop, a statement or an access."""
    found = getattr(node, "loc", None)
    return found if isinstance(found, Location) else UNKNOWN


def _is_buffer(value: Value) -> bool:
    return hasattr(value.type, "shape")


def _outermost(body: tuple[Node, ...]) -> Iterator[Loop]:
    """Loops without a loop around them; conditions around them are looked through."""
    for node in body:
        if isinstance(node, Loop):
            yield node
        elif isinstance(node, If):
            yield from _outermost((*node.body, *node.orelse))


@dataclass(frozen=True, slots=True)
class _Proven:
    """The facts proven about a whole function."""

    model: Model
    dependences: tuple[Dependence, ...]
    verdicts: tuple[LoopVerdict, ...]
    parts: tuple[LoopValues, ...]

    @staticmethod
    def of(built: Model) -> _Proven:
        found, passed = dependences(built), values(built)
        verdicts = with_privatisation(loop_verdicts(built, found), passed)
        return _Proven(built, found, verdicts, parts(passed))

    def nest(self, loop: Loop, arrays: Mapping[str, Value]) -> Nest:
        """The facts about one nest: both ends of its dependences lie inside."""
        inside = {statement.name for statement in statements((loop,))}
        mine = tuple(
            d
            for d in self.dependences
            if {d.source.instances.name, d.sink.instances.name} <= inside
        )
        names = {inner.name for inner in loops((loop,))}
        everything = tuple(
            i for i in self.model.everything if i.loops and i.loops[0].name == loop.name
        )
        scop = replace(self.model.scop, body=(loop,))
        only = replace(self.model, scop=scop, everything=everything)
        return Nest(
            loop,
            only,
            mine,
            tuple(v for v in self.verdicts if v.loop.name in names),
            bands((loop,), mine),
            contractions(only, mine),
            tuple(part for part in self.parts if part.loop.name == loop.name),
            arrays,
        )


def _places(
    name: str, shapes: Mapping[str, tuple[int | str | None, ...]]
) -> Iterator[tuple[str, int]]:
    """Arrays and dimensions whose extent is a parameter."""
    for array, shape in shapes.items():
        yield from ((array, d) for d, extent in enumerate(shape) if extent == name)


def _names(
    module: Module,
    operation: Operation,
    parameters: tuple[str, ...],
    made_from: Mapping[Value, str],
    shapes: Mapping[str, tuple[int | str | None, ...]],
) -> dict[str, tuple[str, ...]]:
    """Per parameter its names by position, its own and those of ``memref.dim``.

    Only names in ``module`` count: passes name the extents that they introduce.
    """
    written = {
        (value.name, value.location) for op in module.walk() for value in op.results
    }
    names = {
        name: [f"{array}_size{d}" for array, d in _places(name, shapes)] + [name]
        for name in parameters
    }
    constants = {
        op.results[0]: value.value
        for op in operation.walk()
        if op.name == "arith.constant"
        and isinstance(value := op.attributes.get("value"), IntegerAttr)
    }
    for op in operation.walk():
        if op.name != "memref.dim":
            continue
        shape = shapes.get(made_from.get(op.operands[0], ""), ())
        dimension = constants.get(op.operands[1], len(shape))
        extent = shape[dimension] if 0 <= dimension < len(shape) else None
        value = op.results[0]
        is_written = bool(value.name) and (value.name, value.location) in written
        if isinstance(extent, str) and extent in names and is_written:
            names[extent].append(value.name)
    return {name: tuple(dict.fromkeys(found)) for name, found in names.items()}
