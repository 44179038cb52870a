"""Error catalogue, part J: Python functions that `gpucodegen.jit` does not compile."""

from __future__ import annotations

from gpucodegen.errors.base import CompileError


class PythonError(CompileError):
    """A Python function is outside of what `gpucodegen.jit` compiles."""


class UnsupportedPython(PythonError):
    """A construct outside of the subset."""

    code = "J001"
    template = "jit does not compile {what}"
    remedy = "{hint}"


class UndefinedName(PythonError):
    """A name that is neither a variable nor global."""

    code = "J002"
    template = "name '{name}' has no value here"
    remedy = "Assign it before this line, on every way to it"


class VariableChangesType(PythonError):
    """A variable whose types at a join of control flow have no common one."""

    code = "J003"
    template = "variable '{name}' is {first} on one way to this line and {second} on"
    template += " another"
    remedy = "Use a variable for each"


class WrongOperand(PythonError):
    """An operation on values of the wrong type."""

    code = "J004"
    template = "{what} does not take {types}"
    remedy = "{hint}"


class NotBroadcastable(PythonError):
    """Arrays of different extents in one expression."""

    code = "J005"
    template = "shapes {first} and {second} do not go together"
    remedy = "Make the extents equal, or one of them 1"


class NoPythonSource(PythonError):
    """A function whose text cannot be read."""

    code = "J006"
    template = "the source of {name} is not at hand"
    remedy = "Decorate a function that a `def` in a file, a notebook or a doctest makes"


class UntypedArgument(PythonError):
    """An argument that has no type in the subset."""

    code = "J007"
    template = "argument '{name}' of {function} is {actual}"
    remedy = "{hint}"


class WrongPythonCall(PythonError):
    """Arguments that the function's own signature refuses."""

    code = "J008"
    template = "{function}{signature} is called with other arguments: {problem}"
    remedy = "Pass what the signature names"
