"""Error catalogue, part P: text that is not MLIR."""

from __future__ import annotations

from gpucodegen.errors.base import ParseError


class UnexpectedToken(ParseError):
    """Another token was expected."""

    code = "P001"
    template = "expected {expected}, found {found}"
    remedy = "Write {expected} here"


class UnterminatedString(ParseError):
    """A string literal runs past its line."""

    code = "P002"
    template = "string literal has no closing quote"
    remedy = "Close it with '\"' on the same line; write a line break as \\n"


class InvalidCharacter(ParseError):
    """A character that starts no token."""

    code = "P003"
    template = "invalid character {character}"
    remedy = "Remove it"


class Unclosed(ParseError):
    """A bracket without its partner."""

    code = "P004"
    template = "expected '{closing}' to close '{opening}', found {found}"
    remedy = "Add the missing '{closing}'"


class UnknownOperation(ParseError):
    """No dialect registers this name."""

    code = "P005"
    template = "unknown operation '{name}'"
    remedy = "Check the spelling, or allow unregistered operations"


class UndefinedValue(ParseError):
    """A use of a name that nothing defines."""

    code = "P006"
    template = "value '%{name}' is not defined here"
    remedy = "Define it before this use"


class RedefinedValue(ParseError):
    """A second definition of a name in one scope."""

    code = "P007"
    template = "value '%{name}' is already defined"
    remedy = "Choose another name"


class UnknownType(ParseError):
    """No type has this name."""

    code = "P008"
    template = "unknown type '{name}'"
    remedy = "Use a builtin type such as f32, i32, index, memref<4xf32>"


class UnknownAlias(ParseError):
    """An alias that is not defined."""

    code = "P009"
    template = "alias '{name}' is not defined"
    remedy = "Define it at the top of the file: {name} = ..."


class RedefinedAlias(ParseError):
    """A second definition of an alias."""

    code = "P010"
    template = "alias '{name}' is already defined"
    remedy = "Choose another name"


class DuplicateKey(ParseError):
    """A key that occurs twice in a dictionary."""

    code = "P011"
    template = "key '{name}' occurs twice in this dictionary"
    remedy = "Remove one of them"


class LiteralOutOfRange(ParseError):
    """A number that its type cannot hold."""

    code = "P012"
    template = "{literal} does not fit type {type}"
    remedy = "Use a wider type or a smaller number"


class LiteralTypeMismatch(ParseError):
    """A literal of the wrong kind for its type."""

    code = "P013"
    template = "{literal} is not a literal of type {type}"
    remedy = "Write {example} or change the type"


class ValueTypeMismatch(ParseError):
    """A use with another type than the definition's."""

    code = "P014"
    template = "value '%{name}' has type {actual}, not {written}"
    remedy = "Write {actual} here, or convert the value"


class TypeCountMismatch(ParseError):
    """Operands and written types differ in number."""

    code = "P015"
    template = "{operands} operand(s) but {types} type(s)"
    remedy = "Write one type per operand"


class ResultCountMismatch(ParseError):
    """Names on the left of ``=`` do not fit the results."""

    code = "P016"
    template = "'{operation}' has {actual} result(s), but {named} are named"
    remedy = "Name {actual} on the left of '='"


class UndefinedBlock(ParseError):
    """A branch to a label that its region does not have."""

    code = "P017"
    template = "block '^{name}' is not defined in this region"
    remedy = "Add '^{name}:' to the region, or branch to a block that exists"


class RedefinedBlock(ParseError):
    """A second block of one name."""

    code = "P018"
    template = "block '^{name}' is already defined"
    remedy = "Choose another label"


class TooDeep(ParseError):
    """Nesting beyond the limit."""

    code = "P019"
    template = "nested more than {limit} levels deep"
    remedy = "Split the text into functions, or reduce the nesting"


class TooLarge(ParseError):
    """A literal or a count beyond the limit."""

    code = "P020"
    template = "{what} of {size} is beyond the limit of {limit}"
    remedy = "Use a smaller one"


class ShapeMismatch(ParseError):
    """A dense literal whose nesting is not the shape of its type."""

    code = "P021"
    template = "literal of shape {actual} does not fit {type}"
    remedy = "Write one element per position, or a single one for all"


class InvalidAffine(ParseError):
    """An expression outside the affine grammar or its rules."""

    code = "P022"
    template = "{problem}"
    remedy = "{hint}"


class InvalidAttribute(ParseError):
    """An attribute that cannot stand here."""

    code = "P023"
    template = "{problem}"
    remedy = "{hint}"


class InvalidType(ParseError):
    """A type that breaks a rule of its own."""

    code = "P024"
    template = "{problem}"
    remedy = "{hint}"


class OldSyntax(ParseError):
    """A spelling of an old document that was never settled."""

    code = "P025"
    template = "'{text}' is not supported"
    remedy = "{hint}"


class OperandMismatch(ParseError):
    """Operands that an operation's short form cannot take."""

    code = "P026"
    template = "'{operation}': {problem}"
    remedy = "{hint}"


class PathAsText(ParseError):
    """The name of a file where its text is expected."""

    code = "P027"
    template = "{path!r} is not MLIR; it looks like the path of a file"
    remedy = "Pass pathlib.Path({path!r}) to read the file"
