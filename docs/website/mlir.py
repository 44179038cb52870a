"""Colours of MLIR, for Pygments."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.lexers import LEXERS
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

__all__ = ["MlirLexer"]

_TYPES = r"\b(?:[su]?i\d+|b?f\d+\w*|tf32|index|none|memref|tensor|vector|complex)\b"


class MlirLexer(RegexLexer):
    """Names, operations, types, numbers, texts and comments."""

    name = "MLIR"
    aliases: ClassVar[list[str]] = ["mlir"]
    filenames: ClassVar[list[str]] = ["*.mlir"]
    tokens: ClassVar[dict[str, list[tuple[str, object]]]] = {
        "root": [
            (r"//.*?$", Comment.Single),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"%[\w$.-]+(?:#\d+)?", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"\^\w+", Name.Label),
            (r"[#!][\w$.-]+", Name.Attribute),
            (_TYPES, Keyword.Type),
            (r"\b(?:true|false|dense|affine_map|affine_set)\b", Keyword.Constant),
            (r"\b(?!\d)\w+(?:\.\w+)+", Keyword),
            (r"(?<![\w%])-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?!\w)", Number),
            (r"->|[=*+:-]", Operator),
            (r"\w+|\s+|.", Text),
        ]
    }


def register() -> None:
    """Let Pygments find it by its name."""
    found = (__name__, MlirLexer.name, ("mlir",), ("*.mlir",), ())
    LEXERS[MlirLexer.__name__] = found
