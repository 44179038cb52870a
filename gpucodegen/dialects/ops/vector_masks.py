"""vector.mask: one operation on the lanes that a mask selects."""

from __future__ import annotations

from gpucodegen.dialects.ops.declare import result_list
from gpucodegen.dialects.syntax import Reader, State, Writer
from gpucodegen.ir.locations import UNKNOWN
from gpucodegen.ir.operation import Block, Operation, Region

_YIELD = "vector.yield"


def parse_mask(r: Reader, state: State) -> None:
    """``%m, %passthru { operation } : mask -> types``."""
    uses = r.separated(r.use)
    state.regions = [_with_yield(r.region())]
    state.attributes |= r.attr_dict()
    r.expect(":")
    mask = r.type()
    start = r.start
    state.result_types = r.arrow_types()
    types = [mask, *state.result_types[: len(uses) - 1]]
    state.operands = r.resolve_all(uses, types, start)


def _with_yield(region: Region) -> Region:
    """The region with the yield that may be left out."""
    block = region.blocks[0] if region.blocks else Block()
    last = block.operations[-1] if block.operations else None
    if last is not None and last.name == _YIELD:
        return region
    results = last.results if last is not None else ()
    end = Operation(_YIELD, results, location=last.location if last else UNKNOWN)
    return Region((block.with_operations([*block.operations, end]),))


def print_mask(w: Writer, o: Operation) -> None:
    """``%m, %passthru { operation } : mask -> types``."""
    w.write(f" {w.names(o.operands)} {{ ")
    *operations, end = o.body.operations
    returned = operations[-1].results if operations else ()
    shown = operations if end.operands == returned else o.body.operations
    for i, nested in enumerate(shown):
        w.write("\n" if i else "")
        w.operation(nested)
    w.write(" }")
    w.attr_dict(o)
    w.write(f" : {o.operands[0].type}")
    if o.results:
        w.write(f" -> {result_list(o.results)}")
