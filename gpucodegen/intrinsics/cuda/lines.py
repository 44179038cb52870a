"""Lines of MLIR in PTX: comments of generated text name them, ``.loc`` repeats them."""

from __future__ import annotations

import re
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.debuginfo import AbstractDIBuilder

from gpucodegen.intrinsics.framework.lowering import I32

Place = tuple[str, int]
"""A file and a line of it."""
_COMMENT = re.compile(r"  # (.+):(\d+)$")


def places(source: str) -> dict[int, Place]:
    r"""The places that lines of a generated text were made from, by their numbers.

    >>> places("def k(A):\n    x = A[0]  # mm.mlir:7")
    {2: ('mm.mlir', 7)}
    """
    found = map(_COMMENT.search, source.splitlines())
    return {
        number: (match[1], int(match[2]))
        for number, match in enumerate(found, 1)
        if match
    }


class Lines(AbstractDIBuilder):
    """Writes the debug information of one kernel: lines, and nothing of variables."""

    def __init__(
        self, module: Any, filepath: str, cgctx: Any, directives_only: bool
    ) -> None:
        del filepath, directives_only
        self.module, self.places = module, cgctx.kernel.places
        self._scopes: dict[str, Any] = {}

    def initialize(self) -> None:
        """Nothing before the kernel."""

    def mark_subprogram(
        self, function: Any, qualname: str, argnames: Any, argtypes: Any, line: int
    ) -> None:
        """The kernel, which begins where its first line does."""
        del argnames, argtypes, line
        file, first = next(iter(self.places.values()))
        unit = self._debug_info(
            "DICompileUnit",
            is_distinct=True,
            language=ir.DIToken("DW_LANG_C"),
            file=self._file(file),
            producer="gpucodegen",
            isOptimized=True,
            runtimeVersion=0,
            emissionKind=ir.DIToken("DebugDirectivesOnly"),
        )
        nothing = self.module.add_metadata([])
        self._scopes[file] = self._debug_info(
            "DISubprogram",
            is_distinct=True,
            name=qualname,
            linkageName=function.name,
            scope=self._file(file),
            file=self._file(file),
            line=first,
            type=self._debug_info("DISubroutineType", types=nothing),
            scopeLine=first,
            unit=unit,
            spFlags=ir.DIToken("DISPFlagDefinition"),
        )
        function.set_metadata("dbg", self._scopes[file])
        cgutils.get_or_insert_named_metadata(self.module, "llvm.dbg.cu").add(unit)

    def mark_location(self, builder: Any, line: int) -> None:
        """Instructions from here on are of a line of the text."""
        if line not in self.places:
            return
        file, number = self.places[line]
        builder.debug_metadata = self._debug_info(
            "DILocation", line=number, column=0, scope=self._scope(file)
        )

    def mark_variable(self, *args: Any, **others: Any) -> None:
        """Variables are in registers, and nothing asks for them."""

    def finalize(self) -> None:
        """State the version of the format."""
        version = [I32(2), "Debug Info Version", I32(3)]
        self.module.add_named_metadata("llvm.module.flags", version)

    def _scope(self, file: str) -> Any:
        """The kernel, or what other files have of it."""
        if file not in self._scopes:
            kernel = next(iter(self._scopes.values()))
            self._scopes[file] = self._debug_info(
                "DILexicalBlockFile",
                scope=kernel,
                file=self._file(file),
                discriminator=0,
            )
        return self._scopes[file]

    def _file(self, name: str) -> Any:
        return self._debug_info("DIFile", filename=name, directory="")

    def _debug_info(self, kind: str, is_distinct: bool = False, **fields: Any) -> Any:
        return self.module.add_debug_info(kind, fields, is_distinct)
