"""What is told of accesses that would leave their buffer.

The host raises where it sees one.  A kernel notes the first values of each report in
words that it is given, and the host looks at these after the launch.
"""

from __future__ import annotations

from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.reports import Told
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation


def told(op: Operation) -> Told:
    """Place, verb, buffer, dimension, extent and names."""
    place = file_location(op.location)
    where = (place.filename, place.line, place.column) if place else ()
    buffer = op.string("verb"), op.string("buffer")
    sizes = op.integer("dimension"), op.integer("extent")
    return where, *buffer, *sizes, _names(op)


def _names(op: Operation) -> tuple[str, ...]:
    found = op.entries("names")
    return tuple(v.value for v in found if isinstance(v, StringAttr))


def report(e: Emitter, op: Operation) -> None:
    """``gcg.report`` in a kernel: the values, and before them that there are some.

    On a GPU, the thread that exchanges the first word writes the values, so that no two
    threads write one word.
    """
    status = e.reports.pointer or e.names.fresh("status")
    e.reports.pointer = status
    first = e.reports.add(told(op), len(op.operands))
    if e.spelling.in_blocks:
        exchange = e.make("atomic_assign_i64", "atomic", "assign", "i64")
        with e.block(f"if {exchange}({status}, {first}, 1) == 0:"):
            _note(e, op, status, first)
        return
    _note(e, op, status, first)
    e.writer.line(f"{status}[{first}] = 1")


def _note(e: Emitter, op: Operation, status: str, first: int) -> None:
    for position, value in enumerate(op.operands):
        e.writer.line(f"{status}[{first + 1 + position}] = {e.text(value)}")


def refuse(e: Emitter, op: Operation) -> None:
    """``gcg.refuse``, and ``gcg.report`` on the host: the call ends here."""
    values = "".join(f"{e.text(value)}, " for value in op.operands)
    e.writer.line(str(call("rt.refuse", repr(told(op)), Text(f"({values})"))))


HANDLERS: dict[str, Handler] = {"gcg.report": report}
HOST_HANDLERS: dict[str, Handler] = {"gcg.report": refuse, "gcg.refuse": refuse}
