"""Function utilities: rewriting of bodies, def-use maps and dead-code elimination.

`without_dead_code` removes operations whose results are unused and that have no effect.
`KeepReachable` keeps only the symbols that one function needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.func import named_function
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.records import dataclass

Rewrite = Callable[[Sequence[Operation]], Iterable[Operation]]


def in_functions(
    module: Module, rewrite: Callable[[Operation], Sequence[Operation]]
) -> Module:
    """Rewrite every function with a body; other operations stay."""
    operations: list[Operation] = []
    for op in module.operations:
        has_body = op.name == "func.func" and op.regions and op.regions[0].blocks
        is_kernel = "gcg.kernel" in op.attributes
        operations += rewrite(op) if has_body and not is_kernel else [op]
    return module.with_operations(operations)


def on_functions(module: Module, rewrite: Callable[[Operation], Operation]) -> Module:
    """Replace every function, kernels and declarations included."""
    operations = module.operations
    return module.with_operations(
        rewrite(op) if op.name == "func.func" else op for op in operations
    )


def with_blocks(op: Operation, rewrite: Rewrite) -> Operation:
    """``op`` with the operations of each block of its regions rewritten."""
    return op.with_blocks(lambda b: b.with_operations(rewrite(b.operations)))


def definitions(op: Operation) -> dict[Value, Operation]:
    """The defining operation of each value in ``op``."""
    return {value: inner for inner in op.walk() for value in inner.results}


def users(op: Operation) -> dict[Value, list[Operation]]:
    """The users of each value; branches use the values that they pass on."""
    found: dict[Value, list[Operation]] = {}
    for inner in op.walk():
        passed = (value for target in inner.successors for value in target.operands)
        for value in (*inner.operands, *passed):
            found.setdefault(value, []).append(inner)
    return found


@dataclass(frozen=True, slots=True)
class KeepReachable(ModulePass, name="keep-reachable"):
    """Drop the functions that ``function`` never calls, directly or not."""

    function: str = ""

    def concerns(self, module: Module, found: Collection[str]) -> bool:
        del found
        return len(module.functions) > 1

    def apply(self, module: Module) -> Module:
        return reachable(module, self.function) if self.function else module


def reachable(module: Module, name: str) -> Module:
    """The function, its direct and indirect callees, and all non-functions."""
    functions = module.functions
    wanted, work = {name}, [name]
    while work:
        for op in functions[work.pop()].walk():
            callee = named_function(op)
            if callee in functions and callee not in wanted:
                wanted.add(callee)
                work.append(callee)
    return module.with_operations(
        op
        for op in module.operations
        if op.name != "func.func" or symbol_name(op) in wanted
    )


PURE_DIALECTS = frozenset({"arith", "math"})
PURE = frozenset(
    {
        "affine.apply",
        "affine.min",
        "affine.max",
        "affine.load",
        "linalg.range",
        "memref.load",
        "memref.dim",
        "memref.cast",
        "memref.subview",
        "builtin.unrealized_conversion_cast",
        "tensor.dim",
        "tensor.empty",
        "tensor.cast",
        "vector.load",
        "vector.transfer_read",
        "vector.from_elements",
        "gpu.thread_id",
        "gpu.block_id",
    }
)
LOOPS = frozenset({"affine.for", "affine.if", "affine.parallel"})


def is_pure(op: Operation) -> bool:
    """Whether removing an unused operation changes nothing."""
    return op.dialect in PURE_DIALECTS or op.name in PURE or has_no_effect(op)


def has_no_effect(op: Operation) -> bool:
    """Whether an operation only computes its results, touching no memory."""
    definition = lookup(op.name)
    return definition is not None and definition.has(Trait.PURE)


def without_dead_code(root: Operation) -> Operation:
    """The operation without dead operations inside, to a fixed point."""
    while True:
        uses = Counter(value for op in root.walk() for value in op.used)
        removed = False

        def rewrite(
            op: Operation, uses: Counter[Value] = uses
        ) -> list[Operation] | None:
            nonlocal removed
            unused = not any(uses[value] for value in op.results)
            if unused and (_is_empty_loop(op) or (op.results and is_pure(op))):
                removed = True
                return []
            return None

        (root,) = rewrite_bottom_up(root, rewrite)
        if not removed:
            return root


def all_used(operations: Sequence[Operation]) -> list[Operation]:
    """A list without pure operations whose results are unused in it."""
    kept: list[Operation] = []
    used: set[Value] = set()
    for op in reversed(operations):
        if op.results and has_no_effect(op) and used.isdisjoint(op.results):
            continue
        kept.append(op)
        used.update(value for inner in op.walk() for value in inner.used)
    return kept[::-1]


def _is_empty_loop(op: Operation) -> bool:
    """A loop or condition whose bodies hold only their terminators."""
    return op.name in LOOPS and all(len(block.operations) <= 1 for block in op.blocks)
