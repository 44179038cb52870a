"""vector: operations that copy elements, rows and slices."""

from __future__ import annotations

from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.assembly_elements import IndexList
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.vector.elements import checks, syntax
from gpucodegen.dialects.vector.types import is_scalable
from gpucodegen.ir.types import Type, VectorType

_PURE = Trait.PURE
_STATIC = {"static_position": kinds.integers()}
_POSITION = IndexList("dynamic_position", "static_position", typed=True)


def _is_fixed(ty: Type) -> bool:
    return isinstance(ty, VectorType) and not is_scalable(ty)


_FIXED = TypeConstraint("a vector without scalable dimensions", _is_fixed)

OPERATIONS = (
    op(
        "vector.broadcast",
        "source -> vector",
        "$source attr-dict `:` type($source) `to` type($vector)",
        types={"vector": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_broadcast],
    ),
    op(
        "vector.from_elements",
        "elements* -> dest",
        "$elements attr-dict `:` type($dest)",
        infer={"elements": syntax.elements_of_dest},
        types={"dest": _FIXED},
        traits=_PURE,
        checks=[checks.check_count],
    ),
    op(
        "vector.to_elements",
        "source -> elements*",
        "$source attr-dict `:` type($source)",
        infer={"elements": syntax.elements_of_source},
        types={"source": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_count],
    ),
    op(
        "vector.extract",
        "source dynamic_position* -> result",
        "$source `` custom<Position> attr-dict `:` custom<Types>",
        custom={"Position": _POSITION, "Types": syntax.ExtractedTypes()},
        attributes=_STATIC,
        types={"source": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_extract],
    ),
    op(
        "vector.insert",
        "valueToStore dest dynamic_position* -> result",
        "$valueToStore `,` $dest `` custom<Position> attr-dict"
        " `:` type($valueToStore) `into` type($dest)",
        custom={"Position": _POSITION},
        attributes=_STATIC,
        same="dest result",
        types={"dest": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_insert],
    ),
    op(
        "vector.extract_strided_slice",
        "source -> result",
        "$source (`offsets` `=` $offsets^ `,` `sizes` `=` $sizes"
        " `,` `strides` `=` $strides)? attr-dict"
        " `:` type($source) `to` type($result)",
        attributes={
            "offsets": kinds.ARRAY,
            "sizes": kinds.ARRAY,
            "strides": kinds.ARRAY,
        },
        types={"source": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_extract_slice],
    ),
    op(
        "vector.insert_strided_slice",
        "valueToStore dest -> result",
        "$valueToStore `,` $dest"
        " (`offsets` `=` $offsets^ `,` `strides` `=` $strides)? attr-dict"
        " `:` type($valueToStore) `into` type($dest)",
        attributes={"offsets": kinds.ARRAY, "strides": kinds.ARRAY},
        same="dest result",
        types={"valueToStore": constraints.VECTOR, "dest": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_insert_slice],
    ),
    op(
        "vector.shuffle",
        "v1 v2 -> vector",
        "$v1 `,` $v2 $mask attr-dict `:` type($v1) `,` type($v2)",
        attributes={"mask": syntax.MASK},
        implied={"vector": syntax.shuffled},
        types={"v1": _FIXED, "v2": _FIXED},
        traits=_PURE,
        checks=[checks.check_shuffle],
    ),
    op(
        "vector.interleave",
        "lhs rhs -> result",
        "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)",
        same="lhs rhs",
        types={"lhs": constraints.VECTOR, "result": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_interleave],
    ),
    op(
        "vector.deinterleave",
        "source -> res1 res2",
        "$source attr-dict `:` type($source) `->` type($res1)",
        same="res1 res2",
        types={"source": constraints.VECTOR, "res1": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_deinterleave],
    ),
    op(
        "vector.scalable.insert",
        "valueToStore dest -> res",
        "$valueToStore `,` $dest `[` $pos `]` attr-dict"
        " `:` type($valueToStore) `into` type($dest)",
        attributes={"pos": kinds.INT64},
        same="dest res",
        types={"valueToStore": constraints.VECTOR, "dest": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_scalable(1)],
    ),
    op(
        "vector.scalable.extract",
        "source -> res",
        "$source `[` $pos `]` attr-dict `:` type($res) `from` type($source)",
        attributes={"pos": kinds.INT64},
        types={"source": constraints.VECTOR, "res": constraints.VECTOR},
        traits=_PURE,
        checks=[checks.check_scalable(0)],
    ),
)
