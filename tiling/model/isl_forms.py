"""Conversions of isl objects to plain Python values and isl text.

It imports islpy, as `isl`, `isl_ast` and `isl_scheduler` do; other modules of this
package take the types `Map` and `Set` from `isl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import islpy

Map: TypeAlias = islpy.Map
Set: TypeAlias = islpy.Set
BasicSet: TypeAlias = islpy.BasicSet
Constraint: TypeAlias = islpy.Constraint
Function: TypeAlias = islpy.MultiAff
Side: TypeAlias = islpy.dim_type
Point: TypeAlias = tuple[dict[str, int], tuple[int, ...]]

IN = islpy.dim_type.in_
OUT = islpy.dim_type.out
SET = islpy.dim_type.set
PARAM = islpy.dim_type.param


def first_point(points: Set) -> Point | None:
    """Parameters and coordinates of the first point; None if there is none."""
    count = points.dim(PARAM)
    names = [str(points.get_dim_name(PARAM, i)) for i in range(count)]
    free = points.flatten().move_dims(SET, 0, PARAM, 0, count)
    point = free.lexmin().sample_point()
    if point.is_void():
        return None
    values = _coordinates(point, SET)
    return dict(zip(names, values[:count], strict=True)), values[count:]


def any_point(points: Set) -> Point | None:
    """Parameters and coordinates of some point; None if there is none."""
    point = points.flatten().sample_point()
    if point.is_void():
        return None
    names = [str(points.get_dim_name(PARAM, i)) for i in range(points.dim(PARAM))]
    parameters = dict(zip(names, _coordinates(point, PARAM), strict=True))
    return parameters, _coordinates(point, SET)


def _coordinates(point: islpy.Point, kind: islpy.dim_type) -> tuple[int, ...]:
    count = point.get_space().dim(kind)
    values = [point.get_coordinate_val(kind, i) for i in range(count)]
    return tuple(value.to_python() for value in values)


def members(points: Set) -> tuple[tuple[int, ...], ...]:
    """Every point of a finite set without free parameters, in lexicographic order.

    >>> from gpucodegen.tiling.model.isl import Solver
    >>> members(Solver().set("[N] -> { [i, j] : 0 <= i < N and j = 2*i and N = 3 }"))
    ((0, 0), (1, 2), (2, 4))
    """
    found: list[islpy.Point] = []
    points.foreach_point(found.append)
    return tuple(sorted({_coordinates(point, SET) for point in found}))


def set_text(points: Set, name: str, dimensions: Sequence[str]) -> str:
    """A set with named dimensions, without the constraints on its parameters.

    >>> from gpucodegen.tiling.model.isl import Solver
    >>> points = Solver().set("[N] -> { [x] : 0 <= x < N and N >= 4 }")
    >>> set_text(points, "S", ("i",))
    'S[i] : 0 <= i < N'
    """
    shown = points.gist_params(points.params()).coalesce().remove_redundancies()
    shown = shown.set_tuple_name(name)
    for position, dimension in enumerate(dimensions):
        shown = shown.set_dim_name(SET, position, dimension)
    return str(shown).partition("{")[2].removesuffix("}").strip()


def condition(parameters: Set) -> str | None:
    """A set of parameters as one conjunction; None if it is a disjunction.

    >>> from gpucodegen.tiling.model.isl import Solver
    >>> solver = Solver()
    >>> condition(solver.set("[M, N] -> { : N >= M and 0 < M }"))
    'M > 0 and N >= M'
    >>> condition(solver.set("[N] -> { : N mod 2 = 0 }")) is None
    True
    """
    shown = parameters.coalesce().remove_redundancies()
    pieces = shown.get_basic_sets()
    if len(pieces) != 1 or pieces[0].dim(islpy.dim_type.div):
        return None
    return str(shown).partition(":")[2].removesuffix("}").strip()


def mentioned_parameters(relation: Map | Set) -> set[str]:
    """The parameters that the constraints of a relation depend on."""
    kind = PARAM
    return {
        str(relation.get_dim_name(kind, i))
        for i in range(relation.dim(kind))
        if relation.involves_dims(kind, i, 1)
    }


def linear_function(relation: Map) -> Function | None:
    """``relation`` as a function of one formula; None if it is not."""
    function = islpy.PwMultiAff.from_map(relation)
    return function.as_multi_aff() if function.isa_multi_aff() else None


def coefficients(relation: Map) -> tuple[tuple[int, ...], ...] | None:
    """Per output the factor of each input; None if ``relation`` is not linear.

    >>> from gpucodegen.tiling.model.isl import Solver
    >>> coefficients(Solver().map("{ [i, j] -> [2*i + j + 1, -j] }"))
    ((2, 1), (0, -1))
    >>> coefficients(Solver().map("{ [i] -> [floor(i/2)] }")) is None
    True
    """
    rows = linear_function(relation)
    if rows is None:
        return None
    affine = [rows.get_at(i) for i in range(rows.dim(OUT))]
    if any(row.dim(islpy.dim_type.div) for row in affine):
        return None
    return tuple(
        tuple(row.get_coefficient_val(IN, i).to_python() for i in range(row.dim(IN)))
        for row in affine
    )


def affine_text(function: islpy.PwAff) -> str | None:
    """A function of parameters as isl text; None if it is not affine in one piece.

    >>> from gpucodegen.tiling.model.isl import Solver
    >>> affine_text(Solver().set("[N] -> { [i] : 2*N - 1 <= i < 3*N }").dim_min(0))
    '-1 + 2*N'
    """
    pieces: list[islpy.Aff] = []
    function.foreach_piece(lambda _, piece: pieces.append(piece))
    if len(pieces) != 1 or pieces[0].dim(islpy.dim_type.div):
        return None
    affine = pieces[0]
    terms = [str(affine.get_constant_val().to_python())]
    for i in range(affine.dim(PARAM)):
        factor = affine.get_coefficient_val(PARAM, i).to_python()
        name = affine.get_dim_name(PARAM, i)
        if factor:
            terms.append(f"{name}" if factor == 1 else f"{factor}*{name}")
    if terms[0] == "0" and len(terms) > 1:
        terms = terms[1:]
    return " + ".join(terms)
