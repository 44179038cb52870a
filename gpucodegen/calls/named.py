"""Names of arguments in Python: what a function shows of itself, and keywords.

Comes in: the names that MLIR has for arguments, and a call with keywords.  Goes out: a
`inspect.Signature`, and the arguments in order.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.calls.signature import Signature

if TYPE_CHECKING:
    from gpucodegen.runtime.host.arguments import Parameter

OPTIONS = "out", "stream"
"""Keywords that are not arguments of the function."""


def python_names(parameters: Sequence[Parameter]) -> tuple[str, ...]:
    """An identifier for each argument: its own name where that is one.

    >>> from gpucodegen.runtime.host.arguments import Parameter
    >>> given = "A", "a-b", "0", "in", "out", "A"
    >>> python_names([Parameter(name, "f32", "f32") for name in given])
    ('A', 'a_b', 'arg2', 'in_', 'out_', 'A_')
    """
    names: list[str] = []
    for n, parameter in enumerate(parameters):
        name = re.sub(r"\W", "_", parameter.name)
        name = name if name.isidentifier() else f"arg{n}"
        while keyword.iskeyword(name) or name in OPTIONS or name in names:
            name += "_"
        names.append(name)
    return tuple(names)


def python_signature(signature: Signature) -> inspect.Signature:
    """What `inspect.signature` says of a function; annotations are types of MLIR."""
    either, after = (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )
    pairs = zip(python_names(signature.parameters), signature.parameters, strict=True)
    given = [inspect.Parameter(name, either, annotation=p.type) for name, p in pairs]
    options = [inspect.Parameter(name, after, default=None) for name in OPTIONS]
    types = [result.type for result in signature.results]
    returned = types[0] if len(types) == 1 else f"({', '.join(types)})"
    return inspect.Signature(
        [*given, *options], return_annotation=returned if types else None
    )


def in_order(
    signature: Signature, given: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The arguments of a call in order, the named ones in their places.

    Raises WrongArgumentName, WrongArgumentCount.
    """
    names = python_names(signature.parameters)
    later = dict.fromkeys(names[len(given) :])
    for name in named:
        if name not in later:
            problem = "is given twice" if name in names else "does not exist"
            raise errors.WrongArgumentName(
                function=signature.function,
                argument=name,
                problem=problem,
                signature=str(signature),
            )
    ordered = (*given, *(named[name] for name in later if name in named))
    if len(ordered) != len(names):
        raise errors.WrongArgumentCount(
            function=signature.function,
            expected=len(names),
            actual=len(ordered),
            signature=str(signature),
        )
    return ordered


class Shown:
    """The ``__signature__`` of a function; of its class there is none.

    >>> import gpucodegen as gcg
    >>> f = gcg.compile("func.func @f(%x: f32, %n: i8) -> f32 { return %x : f32 }").f
    >>> print(inspect.signature(f))
    (x: 'f32', n: 'i8', *, out=None, stream=None) -> 'f32'
    """

    def __get__(self, instance: Any, owner: type[Any]) -> inspect.Signature:
        """The signature of one function."""
        if instance is None:
            raise AttributeError(owner)
        return python_signature(instance.signature)
