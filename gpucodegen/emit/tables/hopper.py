"""Emits Hopper operations: mbarriers, TMA copies, fences and wgmma products.

Each wgmma product is waited for immediately, whatever ``waitGroup`` says: until it
completes, no register of its accumulator may be moved, and a compiler would move them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

from gpucodegen.dialects.nvgpu.types import (
    ShapeAndElement,
    barrier_count,
    fields,
    held,
    is_tensor_map,
    swizzle_span,
)
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.expressions import Text, call
from gpucodegen.emit.spelling import stored_bytes
from gpucodegen.emit.tables.memory import buffer_of, shared_array
from gpucodegen.ir.affine import Const
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import I1, MemRefType


def create(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.create``: words of shared memory."""
    made = shared_array(e, barrier_count(op.result.type), "i64")
    name = e.variable(op.result)
    e.facts.spaces[name] = "shared"
    e.writer.line(f"{name} = {made}")


@contextmanager
def predicated(e: Emitter, op: Operation, operands: int) -> Generator[None]:
    """A guard if the operation has a predicate after ``operands`` operands."""
    given = op.operands[operands:]
    if not given or given[-1].type != I1:
        yield
        return
    with e.block(f"if {e.text(given[-1])}:"):
        yield


def one_of(e: Emitter, barriers: Value, which: Value) -> tuple[Text, Text]:
    """An mbarrier of a group, as arguments."""
    return e.text(barriers), e.narrow(e.affine(e.index(which)))


def _words(e: Emitter, value: Value) -> Text:
    return e.narrow(e.affine(e.index(value)))


Spell = Callable[[Emitter, Value], Text]


def _on_barrier(name: str, which: int, *others: tuple[int, Spell]) -> Handler:
    """A call about an mbarrier of a group: that of operand number ``which``.

    ``others``: the numbers of further operands, and how each of them is spelled.
    """

    def handler(e: Emitter, op: Operation) -> None:
        made, given = e.make(name, name), op.operands
        with predicated(e, op, 3):
            where = one_of(e, given[0], given[which])
            text = call(made, *where, *(spell(e, given[n]) for n, spell in others))
            if op.results:
                e.define(op.result, text)
            else:
                e.writer.line(str(text))

    return handler


def engine(e: Emitter, name: str, value: int = 0) -> None:
    """An instruction without register operands."""
    hint = f"{name}_{value}" if value else name
    e.writer.line(str(call(e.make(hint, "engine", name, value))))


def _plain(name: str) -> Handler:
    def handler(e: Emitter, _: Operation) -> None:
        engine(e, name)

    return handler


def fence_proxy(e: Emitter, op: Operation) -> None:
    """``nvvm.fence.proxy``: of all memory, or of shared memory."""
    kind = str(op.attributes.get("kind"))
    if "async" not in kind:
        raise e.refusal(op, "Fence #nvvm.proxy_kind<async.shared> or <async>")
    engine(e, "fence_proxy_shared" if "shared" in kind else "fence_proxy")


def end_stores(e: Emitter, op: Operation) -> None:
    name = "end_store_reads" if "read" in op.attributes else "end_stores"
    engine(e, name, op.integer("group"))


def end_products(e: Emitter, op: Operation) -> None:
    """``nvvm.wgmma.wait.group.sync.aligned``: no text.

    Products are waited for where they are issued, as the module's docstring explains.
    """
    del e, op


def registers(e: Emitter, op: Operation) -> None:
    more = "increase" in str(op.attributes.get("action"))
    engine(e, "more_registers" if more else "fewer_registers", op.integer("regCount"))


MBARRIER_PREFIX = "nvgpu.mbarrier."
BARRIER_HANDLERS: dict[str, Handler] = {
    f"{MBARRIER_PREFIX}create": create,
    f"{MBARRIER_PREFIX}get": _on_barrier("mbarrier_address", 1),
    f"{MBARRIER_PREFIX}init": _on_barrier("mbarrier_init", 2, (1, _words)),
    f"{MBARRIER_PREFIX}arrive": _on_barrier("mbarrier_arrive", 1),
    f"{MBARRIER_PREFIX}arrive.nocomplete": _on_barrier(
        "mbarrier_arrive_more", 1, (2, _words)
    ),
    f"{MBARRIER_PREFIX}arrive.expect_tx": _on_barrier(
        "mbarrier_expect", 2, (1, _words)
    ),
    f"{MBARRIER_PREFIX}test.wait": _on_barrier("mbarrier_test", 2, (1, Emitter.text)),
    f"{MBARRIER_PREFIX}try_wait.parity": _on_barrier(
        "mbarrier_wait", 3, (1, Emitter.typed), (2, _words)
    ),
    "nvvm.cp.async.bulk.commit.group": _plain("commit_stores"),
    "nvvm.cp.async.bulk.wait_group": end_stores,
    "nvvm.fence.mbarrier.init": _plain("fence_barriers"),
    "nvvm.fence.proxy": fence_proxy,
    "nvvm.setmaxregister": registers,
    "nvvm.wgmma.wait.group.sync.aligned": end_products,
}


LOAD, STORE = "nvgpu.tma.async.load", "nvgpu.tma.async.store"
LEAST = 128
"""Alignment of a box in shared memory; with a swizzle it is 8 spans."""


def alignments(operations: Iterable[Operation]) -> dict[Value, int]:
    """Required alignment of the buffers that boxes are copied to or from.

    A view requires it of its whole buffer.
    """
    found: dict[Value, int] = {}
    sources: dict[Value, Value] = {}
    for root in operations:
        for op in root.walk():
            if op.dialect == "memref" and op.operands:
                sources.update(dict.fromkeys(op.results, op.operands[0]))
            if op.name not in (LOAD, STORE):
                continue
            tensor_map = next(v for v in op.operands if is_tensor_map(v.type))
            place = op.operands[0]
            while place in sources:
                place = sources[place]
            needed = max(LEAST, 8 * swizzle_span(tensor_map.type))
            found[place] = max(found.get(place, 0), needed)
    return found


def _start(e: Emitter, op: Operation, memref: Value) -> tuple[Text, Text]:
    """Pointer and offset of a buffer's first element."""
    buffer = buffer_of(e, op, memref)
    rank = memref.type.rank if isinstance(memref.type, MemRefType) else 0
    return Text(buffer.pointer), e.offset(buffer.at([Const(0)] * rank))


def _corner(e: Emitter, coordinates: Sequence[Value]) -> list[Text]:
    return [e.narrow(e.affine(e.index(v))) for v in coordinates]


def load_tensor(e: Emitter, op: Operation) -> None:
    (target,), (barriers,), (source,), corner, (which,), mask, _ = operand_segments(
        op, 7
    )
    multicast = (True,) if mask else ()
    hint = f"tensor_load_{len(corner)}d{'_multicast' if mask else ''}"
    made = e.make(hint, "tensor_load", len(corner), *multicast)
    with predicated(e, op, 0):
        where = _start(e, op, target)
        barrier = one_of(e, barriers, which)
        given = (*_corner(e, corner), *map(e.typed, mask))
        e.writer.line(str(call(made, *where, e.text(source), *barrier, *given)))


def store_tensor(e: Emitter, op: Operation) -> None:
    (source,), (target,), corner, _ = operand_segments(op, 4)
    made = e.make(f"tensor_store_{len(corner)}d", "tensor_store", len(corner))
    with predicated(e, op, 0):
        where = _start(e, op, source)
        given = _corner(e, corner)
        e.writer.line(str(call(made, *where, e.text(target), *given)))


def _on_map(kind: str) -> Handler:
    """An operation whose only operand is a tensor map."""

    def handler(e: Emitter, op: Operation) -> None:
        made = e.make(f"{kind}_tensor_map", "on_tensor_map", kind)
        with predicated(e, op, 1):
            e.writer.line(str(call(made, e.text(op.operands[0]))))

    return handler


TENSOR_COPY_HANDLERS: dict[str, Handler] = {
    LOAD: load_tensor,
    STORE: store_tensor,
    "nvgpu.tma.fence.descriptor": _on_map("fence"),
    "nvgpu.tma.prefetch.descriptor": _on_map("prefetch"),
}


WARPGROUP_PREFIX = "nvgpu.warpgroup."
ROWS, COLUMNS, WIDEST, STEP = 64, 8, 256, 32
"""wgmma: M, multiple of N, largest N, and bytes of a K step."""
_SUMS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "f32": ("f32",),
    "f8E4M3FN": ("f16", "f32"),
    "f8E5M2": ("f16", "f32"),
    "i8": ("i32",),
    "si8": ("i32",),
    "ui8": ("i32",),
}
"""Accumulator types by operand types."""


def _factor(value: Value) -> ShapeAndElement:
    return held(fields(value.type).get("tensor", ""))


def _sum(e: Emitter, op: Operation, value: Value) -> ShapeAndElement:
    total = held(fields(value.type).get("fragmented", ""))
    known = {name for names in _SUMS.values() for name in names}
    fits = len(total.shape) == 2 and not (
        total.shape[0] % ROWS or total.shape[1] % COLUMNS or total.shape[1] > WIDEST
    )
    if not fits or total.element not in known:
        raise e.refusal(
            op,
            f"Accumulate in f32, f16 or i32: rows in multiples of {ROWS}, columns of"
            f" {COLUMNS}, at most {WIDEST}",
        )
    return total


def generate(e: Emitter, op: Operation) -> None:
    tensor, tensor_map = op.operands
    buffer = buffer_of(e, op, tensor)
    shape, element = _factor(op.result)
    span = swizzle_span(tensor_map.type)
    if not span or len(shape) != 2:
        raise e.refusal(op, "Copy the factor by a map of 2 dimensions with a swizzle")
    if shape[1] * stored_bytes(element.lstrip("su")) % span:
        raise e.refusal(op, f"Make its rows multiples of the swizzle's {span} bytes")
    e.facts.spans[op.result] = span
    rank = tensor.type.rank if isinstance(tensor.type, MemRefType) else 0
    made = e.make(
        f"matrix_descriptor_{shape[0]}_{span}", "matrix_descriptor", span, shape[0]
    )
    offset = e.offset(buffer.at([Const(0)] * rank))
    e.define(op.result, call(made, buffer.pointer, offset))


def multiply(e: Emitter, op: Operation) -> None:
    """``nvgpu.warpgroup.mma``: A is M x K, B is K x N or transposed.

    With ``transposeA`` A is stored as K x M; without ``transposeB`` B is stored as N x
    K.
    """
    a, b, total = op.operands
    form = _sum(e, op, total)
    left, right = _factor(a), _factor(b)
    size = stored_bytes(left.element.lstrip("su"))
    flips = "transposeA" in op.attributes, "transposeB" in op.attributes
    of_a = left.shape[::-1] if flips[0] else left.shape
    of_b = right.shape if flips[1] else right.shape[::-1]
    if of_a != (form.shape[0], of_b[0]) or of_b[1] != form.shape[1]:
        raise e.refusal(
            op,
            f"{of_a[0]} x {of_a[1]} times {of_b[0]} x {of_b[1]} is not"
            f" {form.shape[0]} x {form.shape[1]}: make the extents agree; without"
            " transposeB, B has a row for each column",
        )
    if form.element not in _SUMS.get(left.element, ()) or left.element != right.element:
        raise e.refusal(op, "Multiply f16, bf16, f8 or f32 into f32, or i8 into i32")
    if any(flips) and size != 2:
        raise e.refusal(op, "Only elements of 16 bits may lie with K in columns")
    if a not in e.facts.spans or b not in e.facts.spans:
        raise e.refusal(op, "Make both descriptors in the block of the product")
    depth = of_a[1] * size
    if depth % STEP:
        raise e.refusal(op, f"Make K a multiple of {STEP // size}")
    shape = "x".join(map(str, (*form.shape, of_a[1])))
    made = e.make(
        f"warpgroup_multiply_{shape}_{left.element.lower()}",
        "warpgroup_multiply",
        (*form.shape, form.element),
        (left.element, right.element),
        depth,
        (left.shape[0], e.facts.spans[a], flips[0]),
        (right.shape[0], e.facts.spans[b], flips[1]),
    )
    e.define(op.result, call(made, e.text(a), e.text(b), e.text(total)))


def store_accumulator(e: Emitter, op: Operation) -> None:
    total, target = op.operands
    form = _sum(e, op, total)
    buffer = buffer_of(e, op, target)
    step = buffer.strides[0] if len(buffer.strides) == 2 else None
    if not isinstance(step, Const) or buffer.strides[1] != Const(1):
        raise e.refusal(op, "Store to a matrix whose strides are constants, the last 1")
    made = e.make(
        f"store_sum_{step.value}", "store_sum", (*form.shape, form.element), step.value
    )
    offset = e.offset(buffer.at([Const(0), Const(0)]))
    e.writer.line(str(call(made, e.text(total), buffer.pointer, offset)))


def zeros(e: Emitter, op: Operation) -> None:
    form = _sum(e, op, op.result)
    made = e.make("zero_sum", "zero_sum", (*form.shape, form.element))
    e.define(op.result, call(made))


def fragment(e: Emitter, op: Operation) -> None:
    (total,) = op.operands
    form = _sum(e, op, total)
    if form.element == "f16":
        raise e.refusal(op, "Accumulate in f32")
    where = op.integer("row"), op.integer("column")
    hint = f"fragment_{form.shape[1]}_{where[0]}_{where[1]}"
    made = e.make(hint, "sum_fragment", (*form.shape, form.element), *where)
    e.define(op.result, call(made, e.text(total)))


WARPGROUP_HANDLERS: dict[str, Handler] = {
    f"{WARPGROUP_PREFIX}generate.descriptor": generate,
    f"{WARPGROUP_PREFIX}mma": multiply,
    f"{WARPGROUP_PREFIX}mma.store": store_accumulator,
    f"{WARPGROUP_PREFIX}mma.init.accumulator": zeros,
    "gcg.fragment": fragment,
}
