"""gpu: kernel modules, kernels and launches; the other operations by subject."""

from __future__ import annotations

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.gpu import binary, identities, sparse, syntax
from gpucodegen.dialects.gpu.asynchronous import TOKENS
from gpucodegen.dialects.gpu.communication import operations as gpu_communication
from gpucodegen.dialects.gpu.launch import checks as launch_checks
from gpucodegen.dialects.gpu.launch import syntax as launch
from gpucodegen.dialects.gpu.memory import operations as gpu_memory
from gpucodegen.dialects.gpu.mma import operations as gpu_mma

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
        (binary.parse_binary, binary.print_binary),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "objects": kinds.ARRAY,
            "offloadingHandler": kinds.OPTIONAL,
        },
        checks=[binary.check_binary],
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
    op(
        "gpu.return",
        "operands*",
        "attr-dict ($operands^ `:` type($operands))?",
        traits=Trait.TERMINATOR,
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
    op("gpu.terminator", "", "attr-dict", traits=Trait.TERMINATOR),
    op("gpu.module_end", "", "attr-dict", traits=Trait.TERMINATOR),
    *identities.OPERATIONS,
    *gpu_communication.OPERATIONS,
    *gpu_memory.OPERATIONS,
    *gpu_mma.OPERATIONS,
    *sparse.OPERATIONS,
)
