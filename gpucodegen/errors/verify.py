"""Error catalogue, part V: modules that break a rule."""

from __future__ import annotations

from gpucodegen.errors.base import VerifyError


class TypesDiffer(VerifyError, code="V001"):
    """Values that must agree in type."""

    template = (
        "'{operation}': {first} has type {first_type}"
        " but {second} has type {second_type}"
    )
    remedy = "Convert one of them so that the types agree"


class WrongOperandCount(VerifyError, code="V002"):
    """Too few or too many operands."""

    template = "'{operation}' takes {expected} operand(s), found {actual}"
    remedy = "Pass {expected}"


class WrongResultCount(VerifyError, code="V003"):
    """Too few or too many results."""

    template = "'{operation}' gives {expected} result(s), found {actual}"
    remedy = "Declare {expected}"


class MissingTerminator(VerifyError, code="V004"):
    """A block that ends in no terminator."""

    template = "this block of '{operation}' does not end in a terminator"
    remedy = "End it with {expected}"


class MisplacedTerminator(VerifyError, code="V005"):
    """A terminator before the end of its block."""

    template = "terminator '{operation}' is not the last operation of its block"
    remedy = "Remove what follows it, or start a new block there"


class NotDominated(VerifyError, code="V006"):
    """A use that its definition does not reach."""

    template = "{value} does not dominate this use"
    remedy = "Pass the value as a block argument, or define it on every path to here"


class UnknownSymbol(VerifyError, code="V007"):
    """A reference to a symbol that does not exist."""

    template = "symbol {name} is not defined"
    remedy = "Define it in this module"


class RedefinedSymbol(VerifyError, code="V008"):
    """Two symbols of one name in one table."""

    template = "symbol @{name} is already defined"
    remedy = "Rename one of them"


class CallMismatch(VerifyError, code="V009"):
    """A call that does not fit the callee's signature."""

    template = "@{name} is used as {actual}, but its type is {expected}"
    remedy = "Make the call fit the signature"


class ReturnMismatch(VerifyError, code="V010"):
    """Returned values that do not fit the signature."""

    template = "returns ({actual}), but the function's results are ({expected})"
    remedy = "Return values of those types, or change the signature"


class NotADimension(VerifyError, code="V011"):
    """A value that may not be an affine dimension."""

    template = "{value} cannot be used as an affine {role}"
    remedy = (
        "Use a loop variable, a constant, a dim, or an argument of the function"
        "; for data-dependent values use scf.for, memref.load and memref.store"
    )


class WrongMapArity(VerifyError, code="V012"):
    """A map or set with another number of operands."""

    template = "{what} takes {expected} operand(s), found {actual}"
    remedy = "Pass {expected}"


class WrongRank(VerifyError, code="V013"):
    """Indices that do not fit the rank."""

    template = "{type} has rank {rank}, but the number of indices is {actual}"
    remedy = "Write one index per dimension"


class MissingAttribute(VerifyError, code="V014"):
    """A required attribute is absent."""

    template = "'{operation}' lacks the attribute '{name}'"
    remedy = "Add {name} = ..."


class WrongAttribute(VerifyError, code="V015"):
    """An attribute with an unusable value."""

    template = "'{operation}': {problem}"
    remedy = "{hint}"


class WrongStructure(VerifyError, code="V016"):
    """A linalg operation whose maps, operands and body do not fit."""

    template = "'{operation}': {problem}"
    remedy = "{hint}"


class YieldMismatch(VerifyError, code="V017"):
    """Yielded values that do not fit the surrounding operation."""

    template = "'{operation}' must yield ({expected}), found ({actual})"
    remedy = "Yield values of those types"


class BranchMismatch(VerifyError, code="V018"):
    """Values passed to a block that do not fit its arguments."""

    template = "branch to ^{name} passes ({actual}), but its arguments are ({expected})"
    remedy = "Pass one value of the right type per block argument"


class EntryIsSuccessor(VerifyError, code="V019"):
    """A branch to the first block of a region."""

    template = "the entry block of a region cannot be branched to"
    remedy = "Branch to a new block that follows the entry block"


class CapturedValue(VerifyError, code="V020"):
    """A value from outside in a region that is isolated from above."""

    template = "{value} is defined outside '{operation}', which is isolated from above"
    remedy = "Pass the value as an argument"


class InvalidOperandType(VerifyError, code="V021"):
    """An operand of a type the operation does not take."""

    template = "'{operation}': {what} must be {expected}, found {actual}"
    remedy = "Pass {expected}"


class WrongRegionCount(VerifyError, code="V022"):
    """Too few or too many regions or blocks."""

    template = "'{operation}' takes {expected}, found {actual}"
    remedy = "Write {expected}"


class WrongParent(VerifyError, code="V023"):
    """An operation outside the only operations it may be in."""

    template = "'{operation}' must be directly inside {expected}, found in '{actual}'"
    remedy = "Move it there"


class WrongSuccessorCount(VerifyError, code="V024"):
    """Too few or too many successors."""

    template = "'{operation}' takes {expected} successor(s), found {actual}"
    remedy = "Name {expected} blocks"


class LayoutMismatch(VerifyError, code="V025"):
    """A memref layout that does not fit its shape."""

    template = "layout {layout} does not fit a memref of rank {rank}"
    remedy = "Use a map of {rank} dimensions, or one stride per dimension"


class InvalidCast(VerifyError, code="V026"):
    """A conversion between incompatible types."""

    template = "'{operation}' cannot convert {source} to {target}"
    remedy = "{hint}"


class EmptyBody(VerifyError, code="V027"):
    """A function or block without operations."""

    template = "'{operation}' has an empty body"
    remedy = "Add its operations and {expected}, or remove the braces"


class OutOfRange(VerifyError, code="V028"):
    """A constant index outside the extent."""

    template = "'{operation}': {what} {value} is outside [0, {limit})"
    remedy = "Use a smaller one"


class Contradiction(VerifyError, code="V029"):
    """Two statements of one fact that contradict each other."""

    template = "'{operation}': {first} contradicts {second}"
    remedy = "Keep one of them"
