"""Numba target for CUDA kernels, by the NVPTX backend of LLVM.

LLVM comes with llvmlite, so no part of CUDA is needed.  A kernel's arguments are its
own parameters; its pointers point to global memory.

`unroll` marks innermost loops: LLVM alone stops at a size that suits processors with
few registers, so a body is repeated until it has `PRODUCTS` float multiplications, and
few instructions count and compare.  Outer loops stay loops.  Innermost loops that
multiply matrix fragments are fully unrolled; loops around them that wait for other
threads are not, since unrolled they load fragments early, for which there are no
registers.  Loops of single sums, and loops that call functions, synchronise or hold
assembly, are left to LLVM.

`Lines` writes debug information: comments in generated text name MLIR lines, and
``.loc`` directives of the PTX repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from itertools import chain
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import MinimalCallConv
from numba.core.codegen import Codegen, CodeLibrary
from numba.core.datamodel import default_manager, models
from numba.core.datamodel.manager import DataModelManager
from numba.core.debuginfo import AbstractDIBuilder
from numba.core.dispatcher import Dispatcher
from numba.core.fastmathpass import FastFloatBinOpVisitor
from numba.core.imputils import Registry
from numba.core.target_extension import (
    GPU,
    dispatcher_registry,
    jit_registry,
    target_registry,
)
from numba.core.typing import templates

from gpucodegen.intrinsics.framework.lowering import FORMULA, I32
from gpucodegen.intrinsics.framework.pipeline import (
    KernelCompiler,
    KnownCode,
    KnownTypes,
    Target,
)
from gpucodegen.intrinsics.framework.unrolling import mark_loop
from gpucodegen.records import dataclass

Place = tuple[str, int]
"""A file and a line of it."""
_COMMENT = re.compile(r"  # (.+):(\d+)$")


def places(source: str) -> dict[int, Place]:
    r"""The MLIR locations of the lines of a generated text, by line number.

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
    """Writes the debug information of one kernel: lines only, no variables."""

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
        """The kernel, which begins at its first line."""
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
        """Sets the line of the following instructions."""
        if line not in self.places:
            return
        file, number = self.places[line]
        builder.debug_metadata = self._debug_info(
            "DILocation", line=number, column=0, scope=self._scope(file)
        )

    def mark_variable(self, *args: Any, **others: Any) -> None:
        """Does nothing: variables have no debug information."""

    def finalize(self) -> None:
        """States the version of the format."""
        version = [I32(2), "Debug Info Version", I32(3)]
        self.module.add_named_metadata("llvm.module.flags", version)

    def _scope(self, file: str) -> Any:
        """The scope of the kernel in a file."""
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


FEWEST = 4
"""Multiplications of a body to unroll, at least: tiles have them, single sums do not.
"""
PRODUCTS = 1024
"""Multiplications of an unrolled body, at most."""
MOST = 16
"""The largest unroll factor."""
_FUSED = ("llvm.fma.", "llvm.fmuladd.")
_MMA, _BARRIER = "mma.sync", "llvm.nvvm.barrier"
_PLAIN = (*_FUSED, "llvm.assume", "llvm.nvvm.read.ptx.sreg.")


def unroll(function: Any) -> None:
    """Mark the loops of a function."""
    edges = list(_back_edges(function.blocks[0]))
    heads = {head for _, head in edges}
    before: dict[Any, list[Any]] = {}
    for block in function.blocks:
        for target in _following(block):
            before.setdefault(target, []).append(block)
    for tail, head in edges:
        body = _body(before, tail, head)
        called = list(_called(body))
        if any(name.startswith(_MMA) for name in called):
            waits = any(name.startswith(_BARRIER) for name in called)
            if waits:
                mark_loop(function.module, tail, "llvm.loop.unroll.disable")
            elif not heads & (body - {head}):
                mark_loop(function.module, tail, "llvm.loop.unroll.full")
        work, is_outer = _products(body), bool(heads & (body - {head}))
        if is_outer and max(work, _integer_products(body)) >= FEWEST:
            mark_loop(function.module, tail, "llvm.loop.unroll.disable")
        if is_outer or work < FEWEST:
            continue
        count = min(MOST, PRODUCTS // work)
        if count > 1:
            mark_loop(function.module, tail, "llvm.loop.unroll.count", I32(count))


def _following(block: Any) -> list[Any]:
    """The successors of a block."""
    operands: Sequence[Any] = block.terminator.operands if block.terminator else ()
    return [each for each in operands if isinstance(each, ir.Block)]


def _back_edges(entry: Any) -> Iterator[tuple[Any, Any]]:
    """Jumps to a block on the path from the entry."""
    way, seen = [(entry, iter(_following(entry)))], {entry}
    open_ = {entry}
    while way:
        block, rest = way[-1]
        target = next(rest, None)
        if target is None:
            way.pop()
            open_.discard(block)
        elif target in open_:
            yield block, target
        elif target not in seen:
            seen.add(target)
            open_.add(target)
            way.append((target, iter(_following(target))))


def _body(before: Mapping[Any, Sequence[Any]], tail: Any, head: Any) -> set[Any]:
    """The blocks of a loop: all that reach the back edge without passing the head.

    ``before``: the predecessors of each block.
    """
    body, left = {head, tail}, [tail]
    while left:
        block = left.pop()
        if block is head:
            continue
        new = [each for each in before.get(block, ()) if each not in body]
        body.update(new)
        left += new
    return body


def _called(body: set[Any]) -> Iterator[str]:
    """Names of functions, and texts of assembly, that a loop calls."""
    for block in body:
        for x in block.instructions:
            if x.opname == "call":
                yield getattr(x.callee, "asm", getattr(x.callee, "name", ""))


def _products(body: set[Any]) -> int:
    """Float multiplications in a loop; 0 where it must not be unrolled."""
    count = 0
    for block in body:
        for instruction in block.instructions:
            if instruction.opname == "call":
                name = getattr(instruction.callee, "name", "")
                if not name.startswith(_PLAIN):
                    return 0
                count += name.startswith(_FUSED)
            count += instruction.opname == "fmul"
    return count


def _integer_products(body: set[Any]) -> int:
    """Integer multiplications in a loop, but for those of addresses by constants.

    0 where the loop calls functions.
    """
    if any(not name.startswith(_PLAIN) for name in _called(body)):
        return 0
    return sum(
        x.opname == "mul" and not any(isinstance(o, ir.Constant) for o in x.operands)
        for block in body
        for x in block.instructions
    )


NAME = "gpucodegen-cuda"
TRIPLE = "nvptx64-nvidia-cuda"
LAYOUT = (
    "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256"
    "-v16:16-v32:32-n16:32:64"
)
"""That of short pointers: addresses of all memory but global have 32 bits."""
GLOBAL, SHARED = 1, 3
"""Address spaces of PTX: memory that kernels get from outside, and a block's own."""


class Kernels(GPU):
    """The target name: implementations for any GPU also apply here."""


target_registry[NAME] = Kernels
TYPES: Any = templates.Registry()
CODE: Any = Registry(NAME)
MODELS = DataModelManager()
"""Data models of this target, where they differ from those of the CPU."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Facts about the kernel that is compiled.

    ``block``: the extents of its blocks, if all launches have the same; ``resident``:
    the intended blocks per multiprocessor.  ``architecture``: the number of the
    device's, as 90.  ``places``: MLIR lines by lines of text.
    """

    block: tuple[int, int, int] | None = None
    resident: int | None = None
    architecture: int = 0
    places: Mapping[int, Place] = field(default_factory=dict[int, Place])


class Pointer(types.CPointer):
    """A pointer into one address space, so that no access is generic."""

    space: int


class GlobalPointer(Pointer):
    """A pointer parameter."""

    space = GLOBAL


class SharedPointer(Pointer):
    """A pointer to shared memory, of 32 bits."""

    space = SHARED


class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager: DataModelManager, kind: Pointer) -> None:
        pointee = manager.lookup(kind.dtype).get_data_type()
        super().__init__(manager, kind, ir.PointerType(pointee, kind.space))


for _kind in (GlobalPointer, SharedPointer):
    MODELS.register(_kind, _PointerModel)


class KernelConvention(MinimalCallConv):
    """The calling convention of kernels: no result, called by launches only."""

    def get_function_type(self, restype: Any, argtypes: Any) -> ir.FunctionType:
        del restype
        packer = self._get_arg_packer(argtypes)
        return ir.FunctionType(ir.VoidType(), list(packer.argument_types))

    def decorate_function(
        self, fn: Any, args: Any, fe_argtypes: Any, noalias: bool = False
    ) -> None:
        del noalias
        fn.calling_convention = "ptx_kernel"
        self._get_arg_packer(fe_argtypes).assign_names(fn.args, list(args))

    def get_arguments(self, func: Any) -> Sequence[Any]:
        return func.args

    def return_value(self, builder: Any, retval: Any) -> None:
        del retval
        builder.ret_void()


class Library(CodeLibrary):
    """The text of one kernel's module: nothing is linked, nothing is executed."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.text = ""

    def add_ir_module(self, ir_module: Any) -> None:
        self.text = str(ir_module)

    def add_linking_library(self, library: Any) -> None:
        """None: intrinsics build their code in place."""
        raise NotImplementedError(library.name)

    def finalize(self) -> None:
        """Does nothing: modules are kept as text."""
        self._finalized = True

    def get_function(self, name: str) -> Any:
        raise NotImplementedError(name)

    def get_llvm_str(self) -> Any:
        return self.text

    def get_asm_str(self) -> Any:
        """Not available: PTX needs an architecture, which is unknown here."""
        raise NotImplementedError(self.name)


class Generator(Codegen):
    """Makes modules for the architecture."""

    _library_class = Library

    def _create_empty_module(self, name: str) -> Any:
        module = ir.Module(name)
        module.triple, module.data_layout = TRIPLE, LAYOUT
        return module

    def _add_module(self, module: Any) -> None:
        del module


class TypingContext(KnownTypes):
    """Types of operators and of thread intrinsics."""

    def load_additional_registries(self) -> None:
        self.install_registry(TYPES)


class Context(KnownCode):
    """The code generation context of the target."""

    strict_alignment = True
    kernel = Kernel()
    DIBuilder = Lines

    def init(self) -> None:
        self._generator = Generator()
        self._target_data = llvm.create_target_data(LAYOUT)
        self.data_model_manager = MODELS.chain(default_manager)

    @property
    def variant(self) -> Hashable:
        return super().variant, self.kernel.architecture

    @property
    def enable_debuginfo(self) -> bool:
        """Whether instructions name MLIR lines."""
        return bool(self.kernel.places)

    @property
    def target_data(self) -> Any:
        return self._target_data

    @cached_property
    def call_conv(self) -> Any:
        return KernelConvention(self)

    def codegen(self) -> Any:
        return self._generator

    def create_module(self, name: str) -> Any:
        return self._generator._create_empty_module(name)  # noqa: SLF001 - our own

    def mangler(
        self, name: str, types: Any, *, abi_tags: Any = (), uid: Any = None
    ) -> str:
        """Kernels keep their names: a launch looks them up."""
        del types, abi_tags, uid
        return name.rpartition(".")[2]

    def declare_env_global(self, module: Any, envname: str) -> None:
        """None: kernels use no Python object."""

    def load_additional_registries(self) -> None:
        from numba.cpython import builtins, numbers, tupleobj

        del builtins, numbers, tupleobj
        self.install_registry(CODE)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Sets the block size and applies fast-math flags, except to formulas.

        Formulas state themselves where a multiply-add is fused.
        """
        del library
        spread = FastFloatBinOpVisitor(self.fastmath.flags if self.fastmath else ())
        for function in mod.functions:
            if function.calling_convention == "ptx_kernel" and self.kernel.block:
                sizes = zip("xyz", self.kernel.block, strict=True)
                known = [(f"reqntid{d}", I32(n)) for d, n in sizes]
                if self.kernel.resident is not None:
                    known.append(("minctasm", I32(self.kernel.resident)))
                mod.add_named_metadata("nvvm.annotations", [function, *chain(*known)])
            if not function.name.startswith(FORMULA):
                spread.visit_Function(function)
            if function.blocks:
                unroll(function)


class KernelDispatcher(Dispatcher):
    """The dispatcher of a kernel, which Numba looks up by target."""

    targetdescr = Target(NAME, TypingContext(), Context)


def jit(function: Any = None, **options: Any) -> Any:
    """The decorator that compiles Numba's overloads for this target."""
    if function is None:
        return partial(jit, **options)
    return KernelDispatcher(
        function, targetoptions=options, pipeline_class=KernelCompiler
    )


dispatcher_registry[Kernels] = KernelDispatcher
jit_registry[Kernels] = jit
