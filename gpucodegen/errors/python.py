"""Error catalogue, part J: Python functions that `gpucodegen.jit` does not compile."""

from __future__ import annotations

from gpucodegen.errors.base import CompileError


class PythonError(CompileError):
    """A Python function is outside of what `gpucodegen.jit` compiles."""


class UnsupportedPython(PythonError, code="J001"):
    """A construct outside of the subset."""

    template = "jit does not compile {what}"
    remedy = "{hint}"


class UndefinedName(PythonError, code="J002"):
    """A name that is neither a variable nor global."""

    template = "name '{name}' has no value here"
    remedy = "Assign it before this line, on every way to it"


class VariableChangesType(PythonError, code="J003"):
    """A variable whose types at a join of control flow have no common one."""

    template = "variable '{name}' is {first} on one way to this line and {second} on"
    template += " another"
    remedy = "Use a variable for each"


class WrongOperand(PythonError, code="J004"):
    """An operation on values of the wrong type."""

    template = "{what} does not take {types}"
    remedy = "{hint}"


class NotBroadcastable(PythonError, code="J005"):
    """Arrays of different extents in one expression."""

    template = "shapes {first} and {second} do not go together"
    remedy = "Make the extents equal, or one of them 1"


class NoPythonSource(PythonError, code="J006"):
    """A function whose text cannot be read."""

    template = "the source of {name} is not at hand"
    remedy = "Decorate a function that a `def` in a file, a notebook or a doctest makes"


class UntypedArgument(PythonError, code="J007"):
    """An argument that has no type in the subset."""

    template = "argument '{name}' of {function} is {actual}"
    remedy = "{hint}"


class WrongPythonCall(PythonError, code="J008"):
    """Arguments that the function's own signature refuses."""

    template = "{function}{signature} is called with other arguments: {problem}"
    remedy = "Pass what the signature names"
