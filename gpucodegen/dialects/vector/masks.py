"""vector.mask: one operation on the lanes that a mask selects."""

from __future__ import annotations

from gpucodegen.dialects.framework.declare import op, result_list
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.rules import require
from gpucodegen.dialects.framework.syntax import Reader, State, Writer, read_type
from gpucodegen.dialects.vector.memory.transfer_syntax import mask_type
from gpucodegen.dialects.vector.shapes.operations import MASK
from gpucodegen.dialects.vector.types import extents, vector_of
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Block, Operation, Region
from gpucodegen.ir.types import I1, Type

_YIELD = "vector.yield"


def parse_mask(r: Reader, state: State) -> None:
    """``%m, %passthru { operation } : mask -> types``."""
    uses = r.separated(r.use)
    start = r.location()
    state.regions = [_with_yield(r.region(), start)]
    mask = read_type(r, state)
    start = r.start
    state.result_types = r.arrow_types()
    types = [mask, *state.result_types[: len(uses) - 1]]
    state.operands = r.resolve_all(uses, types, start)


def _with_yield(region: Region, start: Location) -> Region:
    """The region with the yield that may be left out."""
    block = region.blocks[0] if region.blocks else Block()
    last = block.operations[-1] if block.operations else None
    if last is not None and last.name == _YIELD:
        return region
    results = last.results if last is not None else ()
    end = Operation(_YIELD, results, location=last.location if last else start)
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


# -- rules -----------------------------------------------------------------------------

_MASKABLE = frozenset(
    f"vector.{name}"
    for name in (
        "contract gather multi_reduction outerproduct reduction scatter"
        " transfer_read transfer_write"
    ).split()
)


def check_mask(o: Operation) -> None:
    """At most one operation that takes a mask, whose results are those of the mask."""
    *operations, end = o.body.operations
    types = [v.type for v in o.results]
    require(
        [v.type for v in end.operands] == types,
        o,
        "the results are not those of the masked operation",
        "Write the types of what the operation inside gives",
    )
    require(
        len(operations) <= 1,
        o,
        f"{len(operations)} operations inside",
        "Mask one operation",
    )
    for nested in operations:
        _check_maskable(o, nested, end)
    if len(o.operands) > 1:
        require(
            [v.type for v in o.operands[1:]] == types,
            o,
            "the value for unselected lanes has not the type of the result",
            "Pass a value of the result's type",
        )


def _check_maskable(o: Operation, nested: Operation, end: Operation) -> None:
    require(
        nested.name in _MASKABLE,
        o,
        f"'{nested.name}' takes no mask",
        "Mask a transfer, a gather, a scatter, a reduction or a product",
    )
    require(
        end.operands == nested.results,
        o,
        "what is yielded is not what the masked operation gives",
        "Leave out the vector.yield",
    )
    expected = _expected_mask(nested)
    require(
        expected in (None, o.operands[0].type),
        o,
        f"'{nested.name}' is masked by {expected}, not {o.operands[0].type}",
        f"Use a mask of type {expected}",
    )


def _expected_mask(o: Operation) -> Type | None:
    """The type of the mask of an operation, where it follows from its vector."""
    if o.name.startswith("vector.transfer"):
        is_read = o.name == "vector.transfer_read"
        vector = o.results[0].type if is_read else o.operands[0].type
        map_ = o.attributes.get("permutation_map")
        return mask_type(vector, map_.map) if isinstance(map_, AffineMapAttr) else None
    if o.name in ("vector.reduction", "vector.multi_reduction"):
        return vector_of(extents(o.operands[0].type), I1)
    return None


OPERATIONS = (
    op(
        "vector.mask",
        "mask passthru? -> results*",
        (parse_mask, print_mask),
        types={"mask": MASK},
        regions=1,
        terminators=["vector.yield"],
        checks=[check_mask],
    ),
    op(
        "vector.yield",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        traits=Trait.TERMINATOR,
    ),
)
