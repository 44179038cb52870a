"""Table of the gpu dialect: modules, kernels, launches and thread identities.

The tables of the dialect's other topics are joined here.
"""

from __future__ import annotations

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op, pure, terminator
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.gpu import communication as gpu_communication
from gpucodegen.dialects.gpu import launch, sparse, syntax
from gpucodegen.dialects.gpu import launch as launch_checks
from gpucodegen.dialects.gpu import memory as gpu_memory
from gpucodegen.dialects.gpu import mma as gpu_mma
from gpucodegen.dialects.gpu.syntax import DIMENSION, TOKENS, modern

_BOUND = {"upper_bound": kinds.optional(kinds.INDEX_INT)}
_UPPER = "(`upper_bound` $upper_bound^)?"


def _along(name: str) -> Op:
    """A table entry of an index or extent along x, y or z."""
    return pure(
        f"gpu.{name}",
        "-> result:index",
        f"$dimension {_UPPER} attr-dict",
        attributes={"dimension": DIMENSION, **_BOUND},
        adapt=modern("dimension", "dim"),
    )


def _of_subgroups(name: str) -> Op:
    """A table entry of a subgroup's index, size or count."""
    return pure(
        f"gpu.{name}",
        "-> result:index",
        f"{_UPPER} attr-dict `:` type($result)",
        attributes=_BOUND,
    )


IDENTITY_OPERATIONS = (
    *map(
        _along,
        (
            "thread_id block_id block_dim grid_dim global_id cluster_id cluster_dim"
            " cluster_block_id cluster_dim_blocks"
        ).split(),
    ),
    *map(_of_subgroups, ("subgroup_id", "num_subgroups", "subgroup_size")),
    pure("gpu.lane_id", "-> result:index", f"{_UPPER} attr-dict", attributes=_BOUND),
)


_GRID = (
    "asyncDependencies* gridSizeX gridSizeY gridSizeZ blockSizeX blockSizeY blockSizeZ"
    " clusterSizeX? clusterSizeY? clusterSizeZ? dynamicSharedMemorySize?"
)

OPERATIONS = (
    op(
        "gpu.module",
        "",
        (syntax.parse_module, syntax.print_module),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "targets": kinds.OPTIONAL,
            "offloadingHandler": kinds.OPTIONAL,
        },
        traits=Trait.ISOLATED | Trait.SYMBOL_TABLE | Trait.NO_TERMINATOR,
        regions=1,
    ),
    op(
        "gpu.binary",
        "",
        (syntax.parse_binary, syntax.print_binary),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "objects": kinds.ARRAY,
            "offloadingHandler": kinds.OPTIONAL,
        },
        checks=[syntax.check_binary],
    ),
    op(
        "gpu.func",
        "",
        (syntax.parse_func, syntax.print_func),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "function_type": kinds.TYPE,
            "kernel": kinds.UNIT,
            "arg_attrs": kinds.optional(kinds.ARRAY),
            "res_attrs": kinds.optional(kinds.ARRAY),
            "workgroup_attributions": kinds.optional(kinds.ANY),
            "workgroup_attrib_attrs": kinds.optional(kinds.ARRAY),
            "private_attrib_attrs": kinds.optional(kinds.ARRAY),
        },
        traits=Trait.ISOLATED | Trait.AFFINE_SCOPE,
        regions=1,
        adapt=syntax.modern_kernel,
        checks=[syntax.check_kernel],
        parents=["gpu.module"],
    ),
    terminator(
        "gpu.return",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        parents=["gpu.func"],
    ),
    op(
        "gpu.launch_func",
        f"{_GRID} kernelOperands* asyncObject? -> asyncToken?",
        (launch.parse_launch_func, launch.print_launch_func),
        attributes={"kernel": kinds.SYMBOL},
        types=TOKENS,
        checks=[launch_checks.check_launch_func],
    ),
    op(
        "gpu.launch",
        f"{_GRID} asyncObject? -> asyncToken?",
        (launch.parse_launch, launch.print_launch),
        attributes={
            "module": kinds.optional(kinds.SYMBOL),
            "function": kinds.optional(kinds.SYMBOL),
        },
        types=TOKENS,
        traits=Trait.AFFINE_SCOPE,
        regions=1,
        terminators=["gpu.terminator"],
        adapt=launch.modern_launch,
        checks=[launch_checks.check_launch],
    ),
    terminator("gpu.terminator", "", "attr-dict"),
    terminator("gpu.module_end", "", "attr-dict"),
    *IDENTITY_OPERATIONS,
    *gpu_communication.OPERATIONS,
    *gpu_memory.OPERATIONS,
    *gpu_mma.OPERATIONS,
    *sparse.OPERATIONS,
)
