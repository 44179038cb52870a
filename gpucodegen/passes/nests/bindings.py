"""Bindings of loops to blocks, threads, and threads of the CPU.

``bind{loop=i,to=thread.x}`` states that the iterations of a loop run concurrently. It
is legal if the loop is parallel:

    no dependence is carried by the loop,

where values that each iteration makes for itself do not count. The attribute
``gpucodegen.bind`` carries the binding to the mapping passes.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.loop_names import Site, find_loops
from gpucodegen.passes.nests.loop_rewriting import Replacement, rewrite_loops
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.legality import Refusal

BINDING = "gpucodegen.bind"
BLOCKS = ("block.x", "block.y", "block.z")
THREADS = ("thread.x", "thread.y", "thread.z")
CPU_THREAD = "cpu.thread"
PLACES = (*BLOCKS, *THREADS, CPU_THREAD)


def binding(op: Operation) -> str:
    """The place to which a loop is bound; "" if none."""
    given = op.attributes.get(BINDING)
    return given.value if isinstance(given, StringAttr) else ""


def bindings(operations: Iterable[Operation]) -> set[str]:
    """The places of all loops inside some operations."""
    found = {binding(inner) for op in operations for inner in op.walk()}
    return found - {""}


@dataclass(frozen=True, slots=True)
class Bind(ModulePass, name="bind", looks_for="affine.for"):
    """Bind a parallel loop to blocks or threads.

    ``to``: one of `PLACES`. Blocks along ``x`` are numbered fastest, and neighbouring
    threads along ``thread.x`` access memory together.
    """

    loop: str
    to: str
    function: str = ""

    def apply(self, module: Module) -> Module:
        """Mark the loop. Raises IllegalTransformation with two dependent iterations."""
        if self.to not in PLACES:
            raise errors.InvalidPassOption(
                name=self.name,
                problem=f"there is no place {self.to}",
                hint=errors.did_you_mean(self.to, PLACES, f"Use {', '.join(PLACES)}"),
            )
        surroundings = Surroundings.of(module)

        def marked(site: Site, op: Operation) -> Replacement:
            what = f"binding loop {site.shown} to {self.to}"
            loop_names.demand(_refusal(site, op, surroundings), op, what)
            return Replacement((op.with_attribute(BINDING, StringAttr(self.to)),))

        found = find_loops(module, self.function, self.loop)
        return rewrite_loops(module, found, marked)


def _refusal(site: Site, op: Operation, surroundings: Surroundings) -> Refusal | None:
    """Why the iterations of a loop may not run concurrently."""
    if refusal := loop_names.without_carried_values([op]):
        return refusal
    analysis = loop_names.analysed(site, op, surroundings)
    if analysis.is_parallel(op):
        return None
    verdict = analysis.verdict(op)
    if verdict is None:
        return Refusal("its dependences are not known")
    decisive = verdict.decisive
    reason = f"loop {loop_names.loop_name(op)} carries a dependence"
    return Refusal(reason, decisive, verdict.witness)
