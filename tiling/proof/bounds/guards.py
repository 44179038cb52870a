"""When a call leaves an array: conditions on the parameters, for a check at launch.

Comes in: a `Model` and a `Suspect`. Goes out: pieces of a set of parameter values, each
a list of constraints that all hold; in these calls, and in no others, the access leaves
its array. None where parameters do not decide it, or isl gives no answer.
"""

from __future__ import annotations

from gpucodegen.tiling.model.isl import Set
from gpucodegen.tiling.model.relations import Model
from gpucodegen.tiling.proof.bounds.bounds import Suspect
from gpucodegen.tiling.schedule.isl_ast import conjunctions
from gpucodegen.tiling.schedule.schedule_ast import Inequality

Pieces = tuple[tuple[Inequality, ...], ...]


def leaving(model: Model, suspect: Suspect) -> Pieces | None:
    """The parameters for which an access that certainly runs leaves its array.

    >>> from gpucodegen.tiling.proof.bounds.bounds import suspects
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read
    >>> look, loop = Statement("S", (read("A", "i + 1"),)), Loop("i", "0", "N")
    >>> scop = Scop(("N",), (), (Array("A", (8,)),), nest([loop], (look,)))
    >>> built = model(scop)
    >>> ((constraint,),) = leaving(built, *suspects(built))
    >>> print(constraint.expression)
    (N - 8)
    """
    reference, outside = suspect.reference, suspect.outside
    if outside is None or not (reference.exact and reference.instances.certain):
        return None
    known = model.where((), " and ".join(model.scop.context) or "1 = 1").params()

    def pieces() -> Pieces | None:
        bad: Set = outside.params().gist_params(known).coalesce()
        return conjunctions(bad.remove_redundancies().compute_divs(), known)

    return model.solver.ask(pieces, None)
