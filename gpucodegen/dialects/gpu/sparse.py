"""Table of gpu operations on sparse matrices (cuSPARSE handles)."""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import always, indices
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.gpu.memory import asynchronous
from gpucodegen.dialects.gpu.syntax import word
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.types import DialectType

_MATRIX, _TENSOR, _PRODUCT = (
    DialectType(f"gpu.sparse.{name}_handle")
    for name in ("spmat", "dntensor", "spgemmop")
)
_MODE = replace(
    word("mat_transpose_mode", ("NON_TRANSPOSE", "TRANSPOSE", "CONJUGATE_TRANSPOSE")),
    default=OpaqueAttr("#gpu.mat_transpose_mode<NON_TRANSPOSE>"),
    optional=True,
)
_PRUNE = word("prune_2to4_spmat_flag", ("NONE", "PRUNE_ONLY", "PRUNE_AND_CHECK"))
_STEP = word("spgemm_work_estimation_or_compute_kind", ("WORK_ESTIMATION", "COMPUTE"))
_ELEMENT = {"computeType": kinds.TYPE}


def _matrix(name: str, sizes: str, buffers: str) -> Op:
    """A table entry that creates a matrix from extents and buffers."""
    every = [f"${word_}" for word_ in f"{sizes} {buffers}".split()]
    types = [f"type(${word_})" for word_ in buffers.split()]
    return asynchronous(
        f"create_{name}",
        f"{sizes} {buffers} -> spmat",
        f"{' `,` '.join(every)} attr-dict `:` {' `,` '.join(types)}",
        infer={"spmat": always(_MATRIX)} | dict.fromkeys(sizes.split(), indices),
        types=dict.fromkeys(buffers.split(), constraints.MEMREF),
    )


def _product(name: str, operands: str, modes: str, rest: str, more: str = "") -> Op:
    """A table entry of ``%a{TRANSPOSE}, %b, %c``: handles with transposition modes."""
    handles = operands.split()
    written = [
        f"${handle} (`` `{{` ${mode}^ `}}`)?" if mode != "-" else f"${handle}"
        for handle, mode in zip(handles, modes.split(), strict=True)
    ]
    modes_ = {mode: _MODE for mode in modes.split() if mode != "-"}
    results = "bufferSz" if name.endswith("buffer_size") else ""
    return asynchronous(
        name,
        f"{operands} {more} -> {results}",
        f"{' `,` '.join(written)} {rest} `into` $computeType",
        attributes=modes_ | _ELEMENT,
        infer={handle: always(_handle(handle)) for handle in handles}
        | {"bufferSz": indices},
    )


def _handle(operand: str) -> DialectType:
    return _MATRIX if operand.startswith("spmat") else _TENSOR


def _two(name: str, operands: str, modes: str) -> tuple[Op, Op]:
    """Table entries of a product and of its workspace size query."""
    buffer = "`,` $buffer attr-dict `:` type($buffer)"
    return (
        _product(f"{name}_buffer_size", operands, modes, "attr-dict"),
        _product(name, operands, modes, buffer, "buffer"),
    )


_HANDLES = "spmatA spmatB spmatC"
_THREE = {handle: always(_MATRIX) for handle in _HANDLES.split()}
_IS_MEMREF: dict[str, TypeConstraint] = {"buffer": constraints.MEMREF}

OPERATIONS = (
    asynchronous(
        "create_dn_tensor",
        "memref dims* -> dnTensor",
        "$memref `,` $dims attr-dict `:` type($dims) `into` type($memref)",
        infer={"dnTensor": always(_TENSOR)},
        types={"memref": constraints.MEMREF},
    ),
    _matrix("coo", "rows cols nnz", "rowIdxs colIdxs values"),
    _matrix("coo_aos", "rows cols nnz", "idxs values"),
    _matrix("csr", "rows cols nnz", "rowPos colIdxs values"),
    _matrix("csc", "rows cols nnz", "colPos rowIdxs values"),
    _matrix("bsr", "brows bcols bnnz rBlockSize cBlockSize", "bRowPos bColIdxs values"),
    asynchronous(
        "create_2to4_spmat",
        "rows cols memref -> spMat",
        "`{` $pruneFlag `}` $rows `,` $cols `,` $memref attr-dict `:` type($memref)",
        attributes={"pruneFlag": _PRUNE},
        infer={"rows": indices, "cols": indices, "spMat": always(_MATRIX)},
    ),
    asynchronous(
        "destroy_sp_mat", "spmat", "$spmat attr-dict", infer={"spmat": always(_MATRIX)}
    ),
    asynchronous(
        "destroy_dn_tensor",
        "dnTensor",
        "$dnTensor attr-dict",
        infer={"dnTensor": always(_TENSOR)},
    ),
    *_two("spmv", "spmatA dnX dnY", "modeA - -"),
    *_two("sddmm", "dnmatA dnmatB spmatC", "modeA modeB -"),
    _product(
        "spmm",
        "spmatA dnmatB dnmatC",
        "modeA modeB -",
        "`,` $buffers attr-dict `:` type($buffers)",
        "buffers*",
    ),
    asynchronous(
        "spgemm_create_descr",
        " -> desc",
        "attr-dict",
        infer={"desc": always(_PRODUCT)},
    ),
    asynchronous(
        "spgemm_destroy_descr",
        "desc",
        "$desc attr-dict",
        infer={"desc": always(_PRODUCT)},
    ),
    asynchronous(
        "spgemm_work_estimation_or_compute",
        f"desc {_HANDLES} bufferSz buffer -> bufferSzNew",
        "`{` $kind `}` $spmatA (`` `{` $modeA^ `}`)? `,` $spmatB (`` `{` $modeB^ `}`)?"
        " `,` $spmatC `,` $desc `,` $bufferSz `,` $buffer attr-dict"
        " `:` $computeType `into` type($buffer)",
        attributes={"kind": _STEP, "modeA": _MODE, "modeB": _MODE} | _ELEMENT,
        infer=_THREE
        | {"desc": always(_PRODUCT), "bufferSz": indices, "bufferSzNew": indices},
        types=_IS_MEMREF,
    ),
    asynchronous(
        "spgemm_copy",
        f"desc {_HANDLES}",
        "$spmatA (`` `{` $modeA^ `}`)? `,` $spmatB (`` `{` $modeB^ `}`)? `,` $spmatC"
        " `,` $desc attr-dict `:` $computeType",
        attributes={"modeA": _MODE, "modeB": _MODE} | _ELEMENT,
        infer=_THREE | {"desc": always(_PRODUCT)},
    ),
    asynchronous(
        "spmat_get_size",
        "spmat -> rows cols nnz",
        "$spmat attr-dict",
        infer={"spmat": always(_MATRIX)}
        | dict.fromkeys(("rows", "cols", "nnz"), indices),
    ),
    asynchronous(
        "set_csr_pointers",
        "spmat positions coordinates values",
        "$spmat `,` $positions `,` $coordinates `,` $values attr-dict"
        " `:` type($positions) `,` type($coordinates) `,` type($values)",
        infer={"spmat": always(_MATRIX)},
    ),
)
