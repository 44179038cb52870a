"""Syntax and rules of affine.delinearize_index and affine.linearize_index."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.ir.attributes import DenseArrayAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import OPERAND_SEGMENTS, operand_segments, segment_sizes
from gpucodegen.ir.types import I64, INDEX, Type, VectorType


def _is_index_like(ty: Type) -> bool:
    return (ty.element if isinstance(ty, VectorType) else ty) == INDEX


INDEX_LIKE = TypeConstraint("index, or a vector of it", _is_index_like)


# -- the basis -------------------------------------------------------------------------


def _basis(r: Reader, state: State) -> list[Value]:
    """``(%m, 4)``: values, with the numbers and marks in an attribute."""
    dynamic: list[Value] = []

    def entry() -> int:
        if r.token[:1] != "%":
            return r.integer()
        dynamic.append(r.resolve(r.use(), INDEX))
        return DYNAMIC_MARK

    static = r.listed("(", ")", entry)
    state.attributes["static_basis"] = DenseArrayAttr(I64, tuple(static))
    return dynamic


def _entries(o: Operation) -> tuple[float, ...]:
    static = o.attributes.get("static_basis")
    return static.values if isinstance(static, DenseArrayAttr) else ()


def _basis_text(w: Writer, o: Operation, dynamic: tuple[Value, ...]) -> str:
    rest = iter(dynamic)
    names = [w.name(next(rest)) if e == DYNAMIC_MARK else str(e) for e in _entries(o)]
    return f"({', '.join(names)})"


def _check_basis(o: Operation, dynamic: int, indices: int) -> None:
    """One entry per index, except perhaps the first."""
    entries = _entries(o)
    marks = entries.count(DYNAMIC_MARK)
    if marks != dynamic:
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem=f"{marks} unknown entries of the basis for {dynamic} values",
            hint="Give one value per unknown entry",
        )
    if indices not in (len(entries), len(entries) + 1):
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem=f"{indices} indices for a basis of {len(entries)}",
            hint="Give one entry per index, or leave out the first",
        )


# -- delinearize -----------------------------------------------------------------------


def parse_delinearize(r: Reader, state: State) -> None:
    """``%i into (%m, 4) : index, index``."""
    linear = r.use()
    r.one_of(("into",), "'into'")
    basis = _basis(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    state.result_types = r.types()
    state.operands = [r.resolve(linear, state.result_types[0]), *basis]


def print_delinearize(w: Writer, o: Operation) -> None:
    """``%i into (%m, 4) : index, index``."""
    w.write(f" {w.name(o.operands[0])} into {_basis_text(w, o, o.operands[1:])}")
    w.attr_dict(o, ("static_basis",))
    w.write(f" : {', '.join(str(v.type) for v in o.results)}")


def check_delinearize(o: Operation) -> None:
    """Results like the operand, one per positive extent, perhaps one more."""
    if not o.results:
        raise errors.WrongResultCount(
            o.location, operation=o.name, expected="at least 1", actual=0
        )
    _check_basis(o, len(o.operands) - 1, len(o.results))
    if any(entry < 1 and entry != DYNAMIC_MARK for entry in _entries(o)):
        raise errors.WrongAttribute(
            o.location,
            operation=o.name,
            problem="an entry of the basis is not positive",
            hint="Use extents of at least 1",
        )
    _check_same_type(o, (o.operands[0], *o.results))


def _check_same_type(o: Operation, values: tuple[Value, ...]) -> None:
    first, *rest = values
    for value in rest:
        if value.type != first.type:
            raise errors.TypesDiffer(
                o.location,
                operation=o.name,
                first="the linear index",
                first_type=first.type,
                second="an index",
                second_type=value.type,
            )


# -- linearize -------------------------------------------------------------------------


def parse_linearize(r: Reader, state: State) -> None:
    """``disjoint? [%i, %j] by (%m, 4) : index``."""
    if r.token == "disjoint":
        r.advance()
        state.attributes["disjoint"] = UnitAttr()
    uses: list[Use] = r.listed("[", "]", r.use)
    r.one_of(("by",), "'by'")
    basis = _basis(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    indices = [r.resolve(use, ty) for use in uses]
    state.result_types = [ty]
    state.operands = [*indices, *basis]
    state.attributes[OPERAND_SEGMENTS] = segment_sizes([indices, basis])


def print_linearize(w: Writer, o: Operation) -> None:
    """``disjoint? [%i, %j] by (%m, 4) : index``."""
    indices, basis = operand_segments(o, 2)
    word = " disjoint" if "disjoint" in o.attributes else ""
    w.write(f"{word} [{w.names(indices)}] by {_basis_text(w, o, basis)}")
    w.attr_dict(o, ("static_basis", "disjoint", OPERAND_SEGMENTS))
    w.write(f" : {o.results[0].type}")


def check_linearize(o: Operation) -> None:
    """Indices like the result, one per entry of the basis, perhaps one more."""
    indices, basis = operand_segments(o, 2)
    _check_basis(o, len(basis), len(indices))
    _check_same_type(o, (o.results[0], *indices))
