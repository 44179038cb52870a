"""gpu: kernel modules, kernels, launches, thread identities."""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen.dialects import kinds
from gpucodegen.dialects.constraints import Constraint
from gpucodegen.dialects.definition import Infer, Op, Trait
from gpucodegen.dialects.ops import gpu_launch_syntax as launch
from gpucodegen.dialects.ops import gpu_syntax as syntax
from gpucodegen.dialects.ops.declare import indices, op
from gpucodegen.dialects.ops.gpu_async import TOKEN, AsyncClause

_TOKEN = Constraint(str(TOKEN), lambda ty: ty == TOKEN)
_TOKENS = {"asyncDependencies": _TOKEN, "asyncToken": _TOKEN}
_DIMENSION = kinds.keyword_of("gpu<dim ", ("x", "y", "z"))
_IDENTITIES = (
    "thread_id block_id block_dim grid_dim global_id cluster_id cluster_dim"
    " cluster_block_id cluster_dim_blocks"
).split()


def _identity(name: str) -> Op:
    return op(
        f"gpu.{name}",
        "-> result",
        "$dimension (`upper_bound` $upper_bound^)? attr-dict",
        attributes={
            "dimension": _DIMENSION,
            "upper_bound": kinds.optional(kinds.INDEX_INT),
        },
        infer={"result": indices},
        traits=Trait.PURE,
    )


def _scalar(name: str) -> Op:
    return op(
        f"gpu.{name}",
        "-> result",
        "attr-dict `:` type($result)",
        traits=Trait.PURE,
    )


def _asynchronous(
    name: str,
    signature: str,
    syntax_: str,
    attributes: Mapping[str, kinds.Kind] | None = None,
    infer: Mapping[str, Infer] | None = None,
) -> Op:
    """An operation that may wait for tokens and give one."""
    operands, _, results = signature.partition(" -> ")
    return op(
        f"gpu.{name}",
        f"asyncDependencies* {operands} -> {results} asyncToken?",
        f"custom<Async> {syntax_}",
        attributes=attributes,
        infer=infer,
        types=_TOKENS,
        custom={"Async": AsyncClause()},
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
        "gpu.func",
        "",
        (syntax.parse_func, syntax.print_func),
        attributes={
            "sym_name": kinds.SYMBOL_NAME,
            "function_type": kinds.TYPE,
            "gpu.kernel": kinds.UNIT,
            "arg_attrs": kinds.optional(kinds.ARRAY),
            "res_attrs": kinds.optional(kinds.ARRAY),
            "workgroup_attributions": kinds.optional(kinds.ANY),
        },
        traits=Trait.ISOLATED | Trait.AFFINE_SCOPE,
        regions=1,
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
        "asyncDependencies* gridSizeX gridSizeY gridSizeZ blockSizeX blockSizeY"
        " blockSizeZ clusterSizeX? clusterSizeY? clusterSizeZ?"
        " dynamicSharedMemorySize? kernelOperands* asyncObject? -> asyncToken?",
        (launch.parse_launch_func, launch.print_launch_func),
        attributes={"kernel": kinds.SYMBOL},
        types=_TOKENS,
        checks=[launch.check_launch_func],
    ),
    op(
        "gpu.launch",
        "asyncDependencies* gridSizeX gridSizeY gridSizeZ blockSizeX blockSizeY"
        " blockSizeZ clusterSizeX? clusterSizeY? clusterSizeZ?"
        " dynamicSharedMemorySize? -> asyncToken?",
        (launch.parse_launch, launch.print_launch),
        attributes={
            "module": kinds.optional(kinds.SYMBOL),
            "function": kinds.optional(kinds.SYMBOL),
        },
        types=_TOKENS,
        traits=Trait.AFFINE_SCOPE,
        regions=1,
        terminators=["gpu.terminator"],
    ),
    op("gpu.terminator", "", "attr-dict", traits=Trait.TERMINATOR),
    op("gpu.module_end", "", "attr-dict", traits=Trait.TERMINATOR),
    op(
        "gpu.yield",
        "values*",
        "attr-dict ($values^ `:` type($values))?",
        traits=Trait.TERMINATOR,
    ),
    op("gpu.barrier", "", "attr-dict"),
    *(_identity(name) for name in _IDENTITIES),
    *(_scalar(name) for name in ("lane_id", "subgroup_id", "subgroup_size")),
    op(
        "gpu.all_reduce",
        "value -> result",
        (syntax.parse_all_reduce, syntax.print_all_reduce),
        attributes={"op": kinds.OPTIONAL, "uniform": kinds.UNIT},
        same="value result",
        regions=None,
    ),
    op(
        "gpu.subgroup_reduce",
        "value -> result",
        "$op $value (`uniform` $uniform^)? attr-dict"
        " `:` functional-type(operands, results)",
        attributes={
            "op": kinds.keyword_of("gpu<all_reduce_op ", syntax.REDUCTIONS),
            "uniform": kinds.UNIT,
        },
        same="value result",
    ),
    op(
        "gpu.shuffle",
        "value offset width -> shuffleResult valid",
        "$mode $value `,` $offset `,` $width attr-dict `:` type($value)",
        attributes={
            "mode": kinds.keyword_of("gpu<shuffle_mode ", ("xor", "up", "down", "idx"))
        },
        same="value shuffleResult",
        infer={
            "offset": syntax.THIRTY_TWO,
            "width": syntax.THIRTY_TWO,
            "valid": syntax.BOOL,
        },
    ),
    op(
        "gpu.dynamic_shared_memory",
        "-> result",
        "attr-dict `:` type($result)",
    ),
    _asynchronous(
        "alloc",
        "dynamicSizes* symbolOperands* -> memref",
        "(`host_shared` $hostShared^)? `` `(` $dynamicSizes `)`"
        " (`` `[` $symbolOperands^ `]`)? attr-dict `:` type($memref)",
        attributes={"hostShared": kinds.UNIT},
        infer={"dynamicSizes": indices, "symbolOperands": indices},
    ),
    _asynchronous("dealloc", "memref", "$memref attr-dict `:` type($memref)"),
    _asynchronous(
        "memcpy", "dst src", "$dst `,` $src attr-dict `:` type($dst) `,` type($src)"
    ),
    _asynchronous(
        "memset",
        "dst value",
        "$dst `,` $value attr-dict `:` type($dst) `,` type($value)",
    ),
    _asynchronous("wait", "", "attr-dict"),
    op(
        "gpu.host_register",
        "value",
        "$value attr-dict `:` type($value)",
    ),
)
