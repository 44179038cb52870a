"""Error catalogue, part V: modules that break a rule."""

from __future__ import annotations

from gpucodegen.errors.base import VerifyError


class TypesDiffer(VerifyError):
    """Values that must agree in type."""

    code = "V001"
    template = (
        "'{operation}': {first} has type {first_type}"
        " but {second} has type {second_type}"
    )
    remedy = "Convert one of them so that the types agree"


class WrongOperandCount(VerifyError):
    """Too few or too many operands."""

    code = "V002"
    template = "'{operation}' takes {expected} operand(s), found {actual}"
    remedy = "Pass {expected}"


class WrongResultCount(VerifyError):
    """Too few or too many results."""

    code = "V003"
    template = "'{operation}' gives {expected} result(s), found {actual}"
    remedy = "Declare {expected}"


class MissingTerminator(VerifyError):
    """A block that ends in no terminator."""

    code = "V004"
    template = "this block of '{operation}' does not end in a terminator"
    remedy = "End it with {expected}"


class MisplacedTerminator(VerifyError):
    """A terminator before the end of its block."""

    code = "V005"
    template = "terminator '{operation}' is not the last operation of its block"
    remedy = "Remove what follows it, or start a new block there"


class NotDominated(VerifyError):
    """A use that its definition does not reach."""

    code = "V006"
    template = "{value} does not dominate this use"
    remedy = "Pass the value as a block argument, or define it on every path to here"


class UnknownSymbol(VerifyError):
    """A reference to a symbol that does not exist."""

    code = "V007"
    template = "symbol {name} is not defined"
    remedy = "Define it in this module"


class RedefinedSymbol(VerifyError):
    """Two symbols of one name in one table."""

    code = "V008"
    template = "symbol @{name} is already defined"
    remedy = "Rename one of them"


class CallMismatch(VerifyError):
    """A call that does not fit the callee's signature."""

    code = "V009"
    template = "@{name} is used as {actual}, but its type is {expected}"
    remedy = "Make the call fit the signature"


class ReturnMismatch(VerifyError):
    """Returned values that do not fit the signature."""

    code = "V010"
    template = "returns ({actual}), but the function's results are ({expected})"
    remedy = "Return values of those types, or change the signature"


class NotADimension(VerifyError):
    """A value that may not be an affine dimension."""

    code = "V011"
    template = "{value} cannot be used as an affine {role}"
    remedy = (
        "Use a loop variable, a constant, a dim, or an argument of the function"
        "; for data-dependent values use scf.for, memref.load and memref.store"
    )


class WrongMapArity(VerifyError):
    """A map or set with another number of operands."""

    code = "V012"
    template = "{what} takes {expected} operand(s), found {actual}"
    remedy = "Pass {expected}"


class WrongRank(VerifyError):
    """Indices that do not fit the rank."""

    code = "V013"
    template = "{type} has rank {rank}, but the number of indices is {actual}"
    remedy = "Write one index per dimension"


class MissingAttribute(VerifyError):
    """A required attribute is absent."""

    code = "V014"
    template = "'{operation}' lacks the attribute '{name}'"
    remedy = "Add {name} = ..."


class WrongAttribute(VerifyError):
    """An attribute with an unusable value."""

    code = "V015"
    template = "'{operation}': {problem}"
    remedy = "{hint}"


class WrongStructure(VerifyError):
    """A linalg operation whose maps, operands and body do not fit."""

    code = "V016"
    template = "'{operation}': {problem}"
    remedy = "{hint}"


class YieldMismatch(VerifyError):
    """Yielded values that do not fit the surrounding operation."""

    code = "V017"
    template = "'{operation}' must yield ({expected}), found ({actual})"
    remedy = "Yield values of those types"


class BranchMismatch(VerifyError):
    """Values passed to a block that do not fit its arguments."""

    code = "V018"
    template = "branch to ^{name} passes ({actual}), but its arguments are ({expected})"
    remedy = "Pass one value of the right type per block argument"


class EntryIsSuccessor(VerifyError):
    """A branch to the first block of a region."""

    code = "V019"
    template = "the entry block of a region cannot be branched to"
    remedy = "Branch to a new block that follows the entry block"


class CapturedValue(VerifyError):
    """A value from outside in a region that is isolated from above."""

    code = "V020"
    template = "{value} is defined outside '{operation}', which is isolated from above"
    remedy = "Pass the value as an argument"


class InvalidOperandType(VerifyError):
    """An operand of a type the operation does not take."""

    code = "V021"
    template = "'{operation}': {what} must be {expected}, found {actual}"
    remedy = "Pass {expected}"


class WrongRegionCount(VerifyError):
    """Too few or too many regions or blocks."""

    code = "V022"
    template = "'{operation}' takes {expected}, found {actual}"
    remedy = "Write {expected}"


class WrongParent(VerifyError):
    """An operation outside the only operations it may be in."""

    code = "V023"
    template = "'{operation}' must be directly inside {expected}, found in '{actual}'"
    remedy = "Move it there"


class WrongSuccessorCount(VerifyError):
    """Too few or too many successors."""

    code = "V024"
    template = "'{operation}' takes {expected} successor(s), found {actual}"
    remedy = "Name {expected} blocks"


class LayoutMismatch(VerifyError):
    """A memref layout that does not fit its shape."""

    code = "V025"
    template = "layout {layout} does not fit a memref of rank {rank}"
    remedy = "Use a map of {rank} dimensions, or one stride per dimension"


class InvalidCast(VerifyError):
    """A conversion between incompatible types."""

    code = "V026"
    template = "'{operation}' cannot convert {source} to {target}"
    remedy = "{hint}"


class EmptyBody(VerifyError):
    """A function or block without operations."""

    code = "V027"
    template = "'{operation}' has an empty body"
    remedy = "Add its operations and {expected}, or remove the braces"


class OutOfRange(VerifyError):
    """A constant index outside the extent."""

    code = "V028"
    template = "'{operation}': {what} {value} is outside [0, {limit})"
    remedy = "Use a smaller one"


class Contradiction(VerifyError):
    """Two statements of one fact that contradict each other."""

    code = "V029"
    template = "'{operation}': {first} contradicts {second}"
    remedy = "Keep one of them"
