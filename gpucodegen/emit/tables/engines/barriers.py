"""nvgpu and nvvm: barriers that count arrivals and bytes, fences, groups of stores."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gpucodegen.dialects.nvgpu.types import barrier_count
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.tables.memory.memory import shared_array
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1


def create(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.create``: words of shared memory."""
    made = shared_array(e, barrier_count(op.result.type), "i64")
    name = e.variable(op.result)
    e.facts.shared.add(name)
    e.writer.line(f"{name} = {made}")


@contextmanager
def predicated(e: Emitter, op: Operation, operands: int) -> Generator[None]:
    """Around what happens only if the last operand, beyond so many, is true."""
    given = op.operands[operands:]
    if not given or given[-1].type != I1:
        yield
        return
    with e.block(f"if {e.text(given[-1])}:"):
        yield


def one_of(e: Emitter, barriers: Value, which: Value) -> tuple[Text, Text]:
    """A barrier of a group, as arguments."""
    return e.text(barriers), e.narrow(e.affine(e.index(which)))


def _words(e: Emitter, value: Value) -> Text:
    return e.narrow(e.affine(e.index(value)))


def get(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.get``."""
    made = e.make("mbarrier_address", "mbarrier_address")
    e.define(op.result, call(made, *one_of(e, *op.operands)))


def init(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.init``."""
    barriers, count, which = op.operands[:3]
    made = e.make("mbarrier_init", "mbarrier_init")
    with predicated(e, op, 3):
        where = one_of(e, barriers, which)
        e.writer.line(str(call(made, *where, _words(e, count))))


def arrive(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.arrive``."""
    made = e.make("mbarrier_arrive", "mbarrier_arrive")
    e.define(op.result, call(made, *one_of(e, *op.operands)))


def arrive_more(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.arrive.nocomplete``."""
    barriers, which, count = op.operands
    made = e.make("mbarrier_arrive_more", "mbarrier_arrive_more")
    where = one_of(e, barriers, which)
    e.define(op.result, call(made, *where, _words(e, count)))


def expect(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.arrive.expect_tx``."""
    barriers, count, which = op.operands[:3]
    made = e.make("mbarrier_expect", "mbarrier_expect")
    with predicated(e, op, 3):
        where = one_of(e, barriers, which)
        e.writer.line(str(call(made, *where, _words(e, count))))


def test(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.test.wait``."""
    barriers, token, which = op.operands
    made = e.make("mbarrier_test", "mbarrier_test")
    e.define(op.result, call(made, *one_of(e, barriers, which), e.text(token)))


def wait(e: Emitter, op: Operation) -> None:
    """``nvgpu.mbarrier.try_wait.parity``: until the phase is over."""
    barriers, parity, ticks, which = op.operands
    made = e.make("mbarrier_wait", "mbarrier_wait")
    where = one_of(e, barriers, which)
    e.writer.line(str(call(made, *where, e.typed(parity), _words(e, ticks))))


def engine(e: Emitter, name: str, value: int = 0) -> None:
    """An instruction without operands in registers."""
    hint = f"{name}_{value}" if value else name
    e.writer.line(str(call(e.make(hint, "engine", name, value))))


def _plain(name: str) -> Handler:
    def handler(e: Emitter, op: Operation) -> None:
        del op
        engine(e, name)

    return handler


def fence_proxy(e: Emitter, op: Operation) -> None:
    """``nvvm.fence.proxy``: of all memory, or of shared memory."""
    kind = str(op.attributes.get("kind"))
    if "async" not in kind:
        raise e.refusal(op, "Fence #nvvm.proxy_kind<async.shared> or <async>")
    engine(e, "fence_proxy_shared" if "shared" in kind else "fence_proxy")


def end_stores(e: Emitter, op: Operation) -> None:
    """``nvvm.cp.async.bulk.wait_group``."""
    name = "end_store_reads" if "read" in op.attributes else "end_stores"
    engine(e, name, op.integer("group"))


def end_products(e: Emitter, op: Operation) -> None:
    """``nvvm.wgmma.wait.group.sync.aligned``: products are waited for where they are.

    `warpgroups` says why; nothing is left to do here.
    """
    del e, op


def registers(e: Emitter, op: Operation) -> None:
    """``nvvm.setmaxregister``."""
    more = "increase" in str(op.attributes.get("action"))
    engine(e, "more_registers" if more else "fewer_registers", op.integer("regCount"))


PREFIX = "nvgpu.mbarrier."
HANDLERS: dict[str, Handler] = {
    f"{PREFIX}create": create,
    f"{PREFIX}get": get,
    f"{PREFIX}init": init,
    f"{PREFIX}arrive": arrive,
    f"{PREFIX}arrive.nocomplete": arrive_more,
    f"{PREFIX}arrive.expect_tx": expect,
    f"{PREFIX}test.wait": test,
    f"{PREFIX}try_wait.parity": wait,
    "nvvm.cp.async.bulk.commit.group": _plain("commit_stores"),
    "nvvm.cp.async.bulk.wait_group": end_stores,
    "nvvm.fence.mbarrier.init": _plain("fence_barriers"),
    "nvvm.fence.proxy": fence_proxy,
    "nvvm.setmaxregister": registers,
    "nvvm.wgmma.wait.group.sync.aligned": end_products,
}
