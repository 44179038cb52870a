"""``mbarrier``: barriers in shared memory that count arrivals and the bytes of copies.

``p`` is the array of barriers, ``i`` the index of one.  PTX ISA, "mbarrier".
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from numba.core import types

from gpucodegen.intrinsics.cuda.instructions import in_space, instruction
from gpucodegen.intrinsics.cuda.target import SHARED
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I32,
    I64,
    Backend,
    Lowering,
    signature,
)

_ASKED = "{{ .reg .pred p; mbarrier.{}.shared::cta.b64 p, {}; selp.u32 $0, 1, 0, p; }}"
PLAIN = {
    "commit_stores": "cp.async.bulk.commit_group;",
    "end_products": "wgmma.wait_group.sync.aligned {};",
    "end_stores": "cp.async.bulk.wait_group {};",
    "end_store_reads": "cp.async.bulk.wait_group.read {};",
    "fence_barriers": "fence.mbarrier_init.release.cluster;",
    "fence_proxy": "fence.proxy.async;",
    "fence_proxy_shared": "fence.proxy.async.shared::cta;",
    "fewer_registers": "setmaxnreg.dec.sync.aligned.u32 {};",
    "more_registers": "setmaxnreg.inc.sync.aligned.u32 {};",
}
"""Instructions without operands in registers, some with a number."""


def factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


def engine(face: Backend, name: str, number: int = 0) -> Any:
    """``engine()``: one of the instructions of `PLAIN`."""

    def lower(low: Lowering) -> None:
        instruction(low, PLAIN[name].format(number))

    return face.define(name, 0, lambda: signature(types.void), lower)


def address(face: Backend) -> Any:
    """``mbarrier_address(p, i)``: the address of a barrier in shared memory."""

    def lower(low: Lowering, pointer: Any, number: Any) -> Any:
        place = in_space(low, pointer, number, SHARED)
        return low.builder.zext(place, I64)

    def typing_rule(pointer: Any, number: Any) -> Any:
        return signature(types.int64, pointer, number)

    return face.define("mbarrier_address", 2, typing_rule, lower)


def init(face: Backend) -> Any:
    """``mbarrier_init(p, i, count)``, made visible to the async proxy."""
    text = (
        "mbarrier.init.shared::cta.b64 [$0], $1; fence.mbarrier_init.release.cluster;"
    )
    return _counted(face, "mbarrier_init", text)


def arrive(face: Backend) -> Any:
    """``mbarrier_arrive(p, i)``: one arrival; returns the state before it."""
    text = "mbarrier.arrive.shared::cta.b64 $0, [$1];"

    def lower(low: Lowering, pointer: Any, number: Any) -> Any:
        place = in_space(low, pointer, number, SHARED)
        return instruction(low, text, (place,), (I64,))[0]

    def typing_rule(pointer: Any, number: Any) -> Any:
        return signature(types.int64, pointer, number)

    return face.define("mbarrier_arrive", 2, typing_rule, lower)


def arrive_more(face: Backend) -> Any:
    """``mbarrier_arrive_more(p, i, n)``: arrivals that do not complete the phase."""
    text = "mbarrier.arrive.noComplete.shared::cta.b64 $0, [$1], $2;"
    return _counted(face, "mbarrier_arrive_more", text, I64)


def expect(face: Backend) -> Any:
    """``mbarrier_expect(p, i, n)``: an arrival that expects ``n`` more bytes."""
    text = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
    return _counted(face, "mbarrier_expect", text)


def _counted(face: Backend, name: str, text: str, made: Any = None) -> Any:
    """An instruction on a barrier and a count of 32 bits."""

    def lower(low: Lowering, pointer: Any, number: Any, count: Any) -> Any:
        place = in_space(low, pointer, number, SHARED)
        args = place, _word(low, count)
        found = instruction(low, text, args, (made,) if made else ())
        return found[0] if found else None

    def typing_rule(pointer: Any, number: Any, count: Any) -> Any:
        result = types.int64 if made else types.void
        return signature(result, pointer, number, count)

    return face.define(name, 3, typing_rule, lower)


def test(face: Backend) -> Any:
    """``mbarrier_test(p, i, state)``: whether the phase of an arrival is complete."""
    text = _ASKED.format("test_wait", "[$1], $2")

    def lower(low: Lowering, pointer: Any, number: Any, state: Any) -> Any:
        place = in_space(low, pointer, number, SHARED)
        (over,) = instruction(low, text, (place, state), (I32,))
        return low.builder.trunc(over, I1)

    def typing_rule(pointer: Any, number: Any, _state: Any) -> Any:
        return signature(types.boolean, pointer, number, types.int64)

    return face.define("mbarrier_test", 3, typing_rule, lower)


def wait(face: Backend) -> Any:
    """``mbarrier_wait(p, i, parity, ticks)``: until a phase of the parity completes.

    ``ticks``: nanoseconds that one try may suspend the thread.
    """

    def lower(
        low: Lowering, pointer: Any, number: Any, parity: Any, ticks: Any
    ) -> None:
        place = in_space(low, pointer, number, SHARED)
        until_over(low, place, low.builder.zext(parity, I32), _word(low, ticks))

    def typing_rule(pointer: Any, number: Any, _parity: Any, ticks: Any) -> Any:
        return signature(types.void, pointer, number, types.boolean, ticks)

    return face.define("mbarrier_wait", 4, typing_rule, lower)


def until_over(low: Lowering, place: Any, parity: Any, *ticks: Any) -> None:
    """Polls until a phase of this parity completes."""
    builder = low.builder
    operands = "".join(f", ${2 + n}" for n in range(1 + len(ticks)))
    text = _ASKED.format("try_wait.parity", f"[$1]{operands}")
    again, done = (builder.append_basic_block(f"mbarrier_{s}") for s in "wd")
    builder.branch(again)
    builder.position_at_end(again)
    (over,) = instruction(low, text, (place, parity, *ticks), (I32,))
    builder.cbranch(builder.trunc(over, I1), done, again)
    builder.position_at_end(done)


def _word(low: Lowering, number: Any) -> Any:
    """A number as 32 bits."""
    if number.type == I32:
        return number
    narrow = number.type.width > I32.width
    return (low.builder.trunc if narrow else low.builder.zext)(number, I32)


MADE = {
    "engine": engine,
    "mbarrier_address": address,
    "mbarrier_arrive": arrive,
    "mbarrier_arrive_more": arrive_more,
    "mbarrier_expect": expect,
    "mbarrier_init": init,
    "mbarrier_test": test,
    "mbarrier_wait": wait,
}
