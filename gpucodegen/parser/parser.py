"""State of one parse, and the interface of the rules that call each other through it.

The rules are those of ``gpucodegen.dialects.framework.syntax.Reader`` and a few that
only the parser uses; ``grammar`` implements them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from gpucodegen import errors
from gpucodegen.dialects.framework import registry
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.framework.syntax import Reader, State
from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.constants import DistinctAttr, Resource
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Type
from gpucodegen.parser.names import Blocks, Values

MAX_DEPTH = 100
REFUSED = {
    "async": "Write what async.execute holds in its place, without tokens: each nest "
    "runs on all threads, one after the other",
    "llvm": "Print text by 'vector.print str', as printString does; what else is "
    "called in C becomes a Python function by externals=, on numbers and memrefs",
}
"""Unsupported MLIR dialects, with advice."""


class Parser(Values, Reader):
    """One parse of one text."""

    def __init__(self, text: str, filename: str, *, allow_unregistered: bool) -> None:
        self.depth = 0
        self.allow_unregistered = allow_unregistered
        self.type_cache: dict[str, Type] = {}
        self.type_aliases: dict[str, Type] = {}
        self.attribute_aliases: dict[str, Attribute] = {}
        self.location_aliases: dict[str, Location] = {}
        self.distinct: dict[int, DistinctAttr] = {}
        self.resources: list[Resource] = []
        self.blobs: dict[str, bytes] = {}
        self.ahead: set[str] = set()
        self.definitions: dict[str, int] | None = None
        self.blocks = Blocks()
        self.dims: set[Value] = set()
        self.pending: list[Operation] = []
        self.default_dialect = "builtin"
        self.is_of_2018 = False
        self.is_of_2021 = False
        super().__init__(text, filename)

    @contextmanager
    def nested(self) -> Generator[None]:
        """One more level of nesting, within the limit."""
        self.deepen()
        yield
        self.depth -= 1

    def deepen(self) -> None:
        """Count a level of nesting; the caller takes it back."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise errors.TooDeep(self.location(), limit=MAX_DEPTH)

    def definition(self, name: str) -> Op | None:
        """The registered operation of this name."""
        return registry.lookup(name)

    def unknown_operation(self, name: str, start: int) -> errors.ParseError:
        refused = REFUSED.get(name.partition(".")[0])
        if refused:
            return errors.UnknownOperation(
                self.location(start), name=name, advice=refused
            )
        known = registry.names_like(name)
        cutoff = 0.6 if name.partition(".")[0] in registry.DIALECTS else 0.75
        advice = errors.did_you_mean(name, known, cutoff=cutoff)
        return errors.UnknownOperation(self.location(start), name=name, advice=advice)

    def emit(self, op: Operation) -> None:
        self.pending.append(op)

    def note_dimension(self, state: State, results: Sequence[Value]) -> None:
        """Record index values that depend on loop variables."""
        is_affine = state.name in ("affine.apply", "affine.min", "affine.max")
        if is_affine and any(v in self.dims for v in state.operands):
            self.dims.update(results)

    @contextmanager
    def region_scope(
        self, blocks: Blocks, *, isolated: bool, dialect: str
    ) -> Generator[None]:
        """Scope of the names and labels of one region."""
        saved = self.blocks, self.default_dialect
        self.blocks = blocks
        self.default_dialect = dialect or self.default_dialect
        mark = 0
        if isolated:
            self.scopes.enter_isolated()
        else:
            mark = self.scopes.enter()
        yield
        if isolated:
            self.close_isolated()
        else:
            self.scopes.leave(mark)
        self.blocks, self.default_dialect = saved

    def close_isolated(self) -> None:
        """Leave an isolated scope; all names used in it must be defined."""
        known = self.scopes.visible()
        unresolved = self.scopes.leave_isolated()
        if unresolved is not None:
            name, forward = unresolved
            raise self.undefined(name, forward.start, known)

    def skip_location(self) -> None:
        if self.token == "loc":
            self.trailing_location()

    # -- rules of the grammar ----------------------------------------------------------

    @abstractmethod
    def trailing_location(self) -> Location:
        """``loc(...)``."""

    @abstractmethod
    def bare_affine_map(self) -> AffineMap:
        """``(d0) -> (d0)``."""

    @abstractmethod
    def bare_integer_set(self) -> IntegerSet:
        """``(d0) : (d0 >= 0)``."""

    @abstractmethod
    def affine_map_or_set(self) -> AffineMap | IntegerSet:
        """A bare map or set."""

    @abstractmethod
    def looks_like_map(self) -> bool:
        """Whether ``(`` starts a bare map or set rather than a function type."""
