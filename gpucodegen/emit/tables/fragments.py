"""Emits matrix fragments of a warp: gpu.subgroup_mma and nvgpu.mma.sync."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.gpu.mma import Matrix, matrix
from gpucodegen.dialects.nvgpu.types import SHAPES, Shape
from gpucodegen.dialects.vector import integers
from gpucodegen.emit.context import (
    Emitter,
    Handler,
    shape_of,
    suffix,
    vector_dtype,
    vector_type,
)
from gpucodegen.emit.expressions import Text, call
from gpucodegen.emit.spelling import stored_bytes
from gpucodegen.emit.tables.memory import buffer_of
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value

PREFIX = "gpu.subgroup_mma_"
LOAD, STORE = f"{PREFIX}load_matrix", f"{PREFIX}store_matrix"
_SUMS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "f32": ("f32",),
    "f64": ("f64",),
    "si8": ("i32",),
    "ui8": ("i32",),
}
"""Accumulator types by operand types."""
_FACTORS = {"AOp", "BOp"}


def _form(e: Emitter, op: Operation, value: Value) -> Matrix:
    """The matrix type of a value, if matrix units support it."""
    form = matrix(value.type)
    bits = {"si8": 8, "ui8": 8, "f16": 16, "bf16": 16, "f64": 64}
    along = 128 // bits.get(form.element, 32)
    if form.element == "f64":
        along = 4
    multiples = {"AOp": (8, along), "BOp": (along, 8), "COp": (8, 8)}[form.role]
    known = {e for sums in _SUMS.values() for e in sums}
    if form.element not in (_SUMS if form.role in _FACTORS else known):
        raise e.refusal(
            op,
            "Use f16, bf16, f32, f64, si8 or ui8 for factors,"
            " and f16, f32, f64 or i32 for accumulators",
        )
    if form.rows % multiples[0] or form.columns % multiples[1]:
        most = f"{multiples[0]} rows and {multiples[1]} columns"
        raise e.refusal(
            op, f"Make {form.role} of {form.element} of multiples of {most}"
        )
    return form


def _hint(*words: object) -> str:
    return "_".join(map(str, words)).replace('"', "").lower()


def _access(e: Emitter, op: Operation, first: int, value: Value) -> tuple[str, ...]:
    """The intrinsic that accesses a matrix in memory, and its address arguments."""
    form = _form(e, op, value)
    target, *indices = op.operands[first:]
    buffer = buffer_of(e, op, target)
    place = buffer.at([e.index(v) for v in indices])
    leading, flipped = op.integer("leadDimension"), "transpose" in op.attributes
    size = stored_bytes(buffer.dtype)
    per = max(1, 4 // size)
    along_rows = (form.role != "BOp") != flipped
    divisor = e.divisor(place)
    packed = (
        along_rows
        and per > 1
        and not (divisor % per or leading % per)
        and not (buffer.alignment or size) % 4
        and (form.role != "COp" or per == 2)
    )
    what = op.name.removeprefix(PREFIX).partition("_")[0]
    name = e.make(
        _hint(what, *form),
        f"matrix_{what}",
        tuple(form),
        leading,
        flipped,
        packed,
    )
    return name, buffer.pointer, str(e.offset(place))


def load_subgroup_matrix(e: Emitter, op: Operation) -> None:
    e.define(op.result, call(*_access(e, op, 0, op.result)))


def store_subgroup_matrix(e: Emitter, op: Operation) -> None:
    value = op.operands[0]
    name, *where = _access(e, op, 1, value)
    e.writer.line(str(call(name, e.text(value), *where)))


def compute(e: Emitter, op: Operation) -> None:
    if {"a_transpose", "b_transpose"} & set(op.attributes):
        raise e.refusal(op, "Load the factor with transpose, and leave it out here")
    forms = [_form(e, op, value) for value in op.operands]
    factors = {form.element for form in forms[:2]}
    fits = len(factors) == 1 or factors == {"si8", "ui8"}
    if not fits or forms[2].element not in _SUMS[forms[0].element]:
        raise e.refusal(
            op,
            "Multiply f16 into f16 or f32, bf16 or f32 into f32, f64 into f64,"
            " si8 and ui8 into i32",
        )
    shape = (forms[0].rows, forms[1].columns, forms[0].columns, forms[0].element)
    name = e.make(_hint("multiply", *shape), "matrix_multiply", *map(tuple, forms))
    e.define(op.result, call(name, *map(e.text, op.operands)))


def constant(e: Emitter, op: Operation) -> None:
    form = _form(e, op, op.result)
    name = e.make(_hint("constant", *form), "matrix_constant", tuple(form))
    e.define(op.result, call(name, e.typed(op.operands[0])))


def elementwise(e: Emitter, op: Operation) -> None:
    kind = str(op.attributes.get("opType")).partition("<")[2].removesuffix(">")
    source, made = (_form(e, op, v) for v in (op.operands[0], op.result))
    if source.element != made.element and made.role in _FACTORS:
        raise e.refusal(op, "Convert accumulators only: lanes hold factors otherwise")
    name = e.make(_hint(kind, *made), "matrix_map", kind, tuple(source), tuple(made))
    e.define(op.result, call(name, *map(e.text, op.operands)))


SUBGROUP_HANDLERS: dict[str, Handler] = {
    LOAD: load_subgroup_matrix,
    STORE: store_subgroup_matrix,
    f"{PREFIX}compute": compute,
    f"{PREFIX}constant_matrix": constant,
    f"{PREFIX}elementwise": elementwise,
}


CODES = {"f8E4M3FN": "i8", "f8E5M2": "i8"}
"""Floats whose fragments hold bit patterns, with the type that holds them.

Other vectors hold narrow floats as f32, but no instruction converts fragments.
"""


def load_fragment(e: Emitter, op: Operation) -> None:
    source, *indices = op.operands
    buffer, ty = buffer_of(e, op, source), vector_type(e, op, op.result)
    tiles, kind = ty.shape[0], vector_dtype(e, op, ty)
    held = CODES.get(kind, kind)
    flag = op.attributes.get("transpose")
    is_turned = isinstance(flag, IntegerAttr) and bool(flag.value)
    hint = f"ldmatrix_x{tiles}{'_trans' if is_turned else ''}_{held}"
    made = e.make(hint, "ldmatrix", tiles, held, is_turned)
    place = e.offset(buffer.at([e.index(v) for v in indices]))
    _define(e, op, call(made, Text(buffer.pointer), place), kind)


def _define(e: Emitter, op: Operation, text: Text, kind: str) -> None:
    """Define a fragment; one of bit patterns is no vector and only feeds products."""
    if kind not in CODES:
        e.define(op.result, text)
        return
    name = e.names.fresh("codes")
    e.writer.line(f"{name} = {text}")
    e.facts.codes[op.result] = Text(name)


def _factor(e: Emitter, op: Operation, value: Value, kind: str) -> Text:
    if kind not in CODES:
        return e.typed(value)
    if value not in e.facts.codes:
        raise e.refusal(op, "Load fragments of 8-bit floats by nvgpu.ldmatrix")
    return e.facts.codes[value]


def multiply(e: Emitter, op: Operation) -> None:
    """``nvgpu.mma.sync``, in a shape that devices support."""
    types = [vector_type(e, op, value) for value in op.operands]
    kind, _, sums = (vector_dtype(e, op, ty) for ty in types)
    m, n, k = integers(op, "mmaShape")
    known = SHAPES.get((kind, sums), ())
    if (m, n, k) not in known:
        raise e.refusal(op, _advice(kind, known))
    if kind == "f32" and "tf32Enabled" not in op.attributes:
        raise e.refusal(op, "Say tf32Enabled: 13 bits of each factor are not read")
    rows = tuple(shape_of(ty)[0] for ty in types)
    hint = f"mma_sync_m{m}n{n}k{k}_{kind}_{sums}"
    made = e.make(hint, "mma_sync", (m, n, k), kind, sums, rows)
    *factors, total = op.operands
    given = [_factor(e, op, value, kind) for value in factors]
    e.define(op.result, call(made, *given, e.typed(total)))


def _advice(kind: str, known: Sequence[Shape]) -> str:
    """Supported shapes of this kind, or similar ones, as advice."""
    if known:
        return f"Use mmaShape = {' or '.join(str(list(shape)) for shape in known)}"
    sums = [total for factor, total in SHAPES if factor == kind]
    kinds = sorted({factor for factor, _ in SHAPES})
    return f"Keep sums in {' or '.join(sums)}" if sums else f"Use {', '.join(kinds)}"


def some_rows(e: Emitter, op: Operation) -> None:
    """``vector.extract_strided_slice`` of a fragment: some of its registers."""
    source, ty = (vector_type(e, op, v) for v in (op.operands[0], op.result))
    first, sizes = integers(op, "offsets"), integers(op, "sizes")
    if len(first) != 1 or integers(op, "strides") != (1,) or len(ty.shape) != 2:
        raise e.refusal(op, "Take rows that follow one another")
    kind = vector_dtype(e, op, ty)
    held = CODES.get(kind, kind)
    hint = f"rows_{first[0]}_{suffix(ty.shape, held)}"
    made = e.make(hint, "some_rows", source.shape, held, first[0], sizes[0])
    _define(e, op, call(made, _factor(e, op, op.operands[0], kind)), kind)


FRAGMENT_HANDLERS: dict[str, Handler] = {
    "nvgpu.ldmatrix": load_fragment,
    "nvgpu.mma.sync": multiply,
    "vector.extract_strided_slice": some_rows,
}
