"""Error catalogue, part P: text that is not MLIR."""

from __future__ import annotations

from gpucodegen.errors.base import ParseError


class UnexpectedToken(ParseError, code="P001"):
    """Another token was expected."""

    template = "expected {expected}, found {found}"
    remedy = "Write {expected} here"


class UnterminatedString(ParseError, code="P002"):
    """A string literal runs past its line."""

    template = "string literal has no closing quote"
    remedy = "Close it with '\"' on the same line; write a line break as \\n"


class InvalidCharacter(ParseError, code="P003"):
    """A character that starts no token."""

    template = "invalid character {character}"
    remedy = "Remove it"


class Unclosed(ParseError, code="P004"):
    """A bracket without its partner."""

    template = "expected '{closing}' to close '{opening}', found {found}"
    remedy = "Add the missing '{closing}'"


class UnknownOperation(ParseError, code="P005"):
    """No dialect registers this name."""

    template = "unknown operation '{name}'"
    remedy = "Check the spelling, or allow unregistered operations"


class UndefinedValue(ParseError, code="P006"):
    """A use of a name that nothing defines."""

    template = "value '%{name}' is not defined here"
    remedy = "Define it before this use"


class RedefinedValue(ParseError, code="P007"):
    """A second definition of a name in one scope."""

    template = "value '%{name}' is already defined"
    remedy = "Choose another name"


class UnknownType(ParseError, code="P008"):
    """No type has this name."""

    template = "unknown type '{name}'"
    remedy = "Use a builtin type such as f32, i32, index, memref<4xf32>"


class UnknownAlias(ParseError, code="P009"):
    """An alias that is not defined."""

    template = "alias '{name}' is not defined"
    remedy = "Define it at the top of the file: {name} = ..."


class RedefinedAlias(ParseError, code="P010"):
    """A second definition of an alias."""

    template = "alias '{name}' is already defined"
    remedy = "Choose another name"


class DuplicateKey(ParseError, code="P011"):
    """A key that occurs twice in a dictionary."""

    template = "key '{name}' occurs twice in this dictionary"
    remedy = "Remove one of them"


class LiteralOutOfRange(ParseError, code="P012"):
    """A number that its type cannot hold."""

    template = "{literal} does not fit type {type}"
    remedy = "Use a wider type or a smaller number"


class LiteralTypeMismatch(ParseError, code="P013"):
    """A literal of the wrong kind for its type."""

    template = "{literal} is not a literal of type {type}"
    remedy = "Write {example} or change the type"


class ValueTypeMismatch(ParseError, code="P014"):
    """A use with another type than the definition's."""

    template = "value '%{name}' has type {actual}, not {written}"
    remedy = "Write {actual} here, or convert the value"


class TypeCountMismatch(ParseError, code="P015"):
    """Operands and written types differ in number."""

    template = "{operands} operand(s) but {types} type(s)"
    remedy = "Write one type per operand"


class ResultCountMismatch(ParseError, code="P016"):
    """Names on the left of ``=`` do not fit the results."""

    template = "'{operation}' has {actual} result(s), but {named} are named"
    remedy = "Name {actual} on the left of '='"


class UndefinedBlock(ParseError, code="P017"):
    """A branch to a label that its region does not have."""

    template = "block '^{name}' is not defined in this region"
    remedy = "Add '^{name}:' to the region, or branch to a block that exists"


class RedefinedBlock(ParseError, code="P018"):
    """A second block of one name."""

    template = "block '^{name}' is already defined"
    remedy = "Choose another label"


class TooDeep(ParseError, code="P019"):
    """Nesting beyond the limit."""

    template = "nested more than {limit} levels deep"
    remedy = "Split the text into functions, or reduce the nesting"


class TooLarge(ParseError, code="P020"):
    """A literal or a count beyond the limit."""

    template = "{what} of {size} is beyond the limit of {limit}"
    remedy = "Use a smaller one"


class ShapeMismatch(ParseError, code="P021"):
    """A dense literal whose nesting is not the shape of its type."""

    template = "literal of shape {actual} does not fit {type}"
    remedy = "Write one element per position, or a single one for all"


class InvalidAffine(ParseError, code="P022"):
    """An expression outside the affine grammar or its rules."""

    template = "{problem}"
    remedy = "{hint}"


class InvalidAttribute(ParseError, code="P023"):
    """An attribute that cannot stand here."""

    template = "{problem}"
    remedy = "{hint}"


class InvalidType(ParseError, code="P024"):
    """A type that breaks a rule of its own."""

    template = "{problem}"
    remedy = "{hint}"


class OldSyntax(ParseError, code="P025"):
    """A spelling of an old document that was never settled."""

    template = "'{text}' is not supported"
    remedy = "{hint}"


class OperandMismatch(ParseError, code="P026"):
    """Operands that an operation's short form cannot take."""

    template = "'{operation}': {problem}"
    remedy = "{hint}"


class PathAsText(ParseError, code="P027"):
    """The name of a file where its text is expected."""

    template = "{path!r} is not MLIR; it looks like the path of a file"
    remedy = "Pass pathlib.Path({path!r}) to read the file"
