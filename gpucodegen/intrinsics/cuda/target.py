"""A target of Numba's for CUDA kernels: code for the NVPTX backend of LLVM.

LLVM comes with llvmlite, so nothing of CUDA is needed here.  A kernel's arguments lie
in its own parameters; its pointers are those of global memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.callconv import MinimalCallConv
from numba.core.codegen import Codegen, CodeLibrary
from numba.core.datamodel import default_manager, models
from numba.core.datamodel.manager import DataModelManager
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

from gpucodegen.intrinsics.cuda.lines import Lines, Place
from gpucodegen.intrinsics.cuda.unrolling import unroll
from gpucodegen.intrinsics.framework.contexts import KnownCode, KnownTypes, Target
from gpucodegen.intrinsics.framework.lowering import FORMULA, I32
from gpucodegen.intrinsics.framework.pipeline import KernelCompiler

NAME = "gpucodegen-cuda"
TRIPLE = "nvptx64-nvidia-cuda"
LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
GLOBAL = 1
"""The address space of memory that kernels get from outside."""


class Kernels(GPU):
    """What runs on every GPU also runs here."""


target_registry[NAME] = Kernels
TYPES: Any = templates.Registry()
CODE: Any = Registry(NAME)
MODELS = DataModelManager()
"""How values of this target lie in registers, where the CPU's differ."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is known of the kernel that is compiled.

    ``block`` are the extents of its blocks, if all launches have the same;
    ``resident`` is how many of them a multiprocessor shall hold.  ``places`` are the
    lines of MLIR by those of text.
    """

    block: tuple[int, int, int] | None = None
    resident: int | None = None
    places: Mapping[int, Place] = field(default_factory=dict[int, Place])


class GlobalPointer(types.CPointer):
    """A pointer parameter."""


class _GlobalPointerModel(models.PointerModel):
    """It comes as an address of global memory, so that no access is generic."""

    def get_argument_type(self) -> ir.Type:
        """The LLVM type of the parameter."""
        return ir.PointerType(self._pointee_be_type, addrspace=GLOBAL)

    def from_argument(self, builder: Any, value: Any) -> Any:
        """The pointer that accesses use."""
        return builder.addrspacecast(value, self.get_value_type())


MODELS.register(GlobalPointer, _GlobalPointerModel)


class KernelConvention(MinimalCallConv):
    """Functions without a result that only a launch calls."""

    def get_function_type(self, restype: Any, argtypes: Any) -> ir.FunctionType:
        """The parameters as they are."""
        del restype
        packer = self._get_arg_packer(argtypes)
        return ir.FunctionType(ir.VoidType(), list(packer.argument_types))

    def decorate_function(
        self, fn: Any, args: Any, fe_argtypes: Any, noalias: bool = False
    ) -> None:
        """Mark the kernel, and name its parameters."""
        del noalias
        fn.calling_convention = "ptx_kernel"
        self._get_arg_packer(fe_argtypes).assign_names(fn.args, list(args))

    def get_arguments(self, func: Any) -> Sequence[Any]:
        """All of them."""
        return func.args

    def return_value(self, builder: Any, retval: Any) -> None:
        """The end of a thread."""
        del retval
        builder.ret_void()


class Library(CodeLibrary):
    """The text of one kernel's module: nothing is linked, nothing is executed."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.text = ""

    def add_ir_module(self, ir_module: Any) -> None:
        """Keep the module's text."""
        self.text = str(ir_module)

    def add_linking_library(self, library: Any) -> None:
        """None: intrinsics build their code in place."""
        raise NotImplementedError(library.name)

    def finalize(self) -> None:
        """Nothing is left to do."""
        self._finalized = True

    def get_function(self, name: str) -> Any:
        """None that this process could call."""
        raise NotImplementedError(name)

    def get_llvm_str(self) -> Any:
        """The module as Numba made it."""
        return self.text

    def get_asm_str(self) -> Any:
        """None: PTX is made for an architecture, which nothing here names."""
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
    """Types of operators and of what a thread knows of itself."""

    def load_additional_registries(self) -> None:
        """What is not among Numba's built-in functions."""
        self.install_registry(TYPES)


class Context(KnownCode):
    """Code of the same."""

    strict_alignment = True
    kernel = Kernel()
    DIBuilder = Lines

    def init(self) -> None:
        """What Numba asks every target for."""
        self._generator = Generator()
        self._target_data = llvm.create_target_data(LAYOUT)
        self.data_model_manager = MODELS.chain(default_manager)

    @property
    def enable_debuginfo(self) -> bool:
        """Whether instructions name lines of MLIR."""
        return bool(self.kernel.places)

    @property
    def target_data(self) -> Any:
        """Sizes and alignments."""
        return self._target_data

    @cached_property
    def call_conv(self) -> Any:
        """How a launch passes arguments."""
        return KernelConvention(self)

    def codegen(self) -> Any:
        """What makes modules."""
        return self._generator

    def create_module(self, name: str) -> Any:
        """An empty module."""
        return self._generator._create_empty_module(name)  # noqa: SLF001 - our own

    def mangler(
        self, name: str, types: Any, *, abi_tags: Any = (), uid: Any = None
    ) -> str:
        """Kernels keep their names: a launch asks for them."""
        del types, abi_tags, uid
        return name.rpartition(".")[2]

    def declare_env_global(self, module: Any, envname: str) -> None:
        """None: kernels use no Python object."""

    def load_additional_registries(self) -> None:
        """What is not among Numba's built-in functions, which these modules fill."""
        from numba.cpython import builtins, numbers, tupleobj

        del builtins, numbers, tupleobj
        self.install_registry(CODE)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """State the size of blocks, and spread the flags, but not over formulas.

        Formulas say themselves where they fuse a product and a sum.
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
    """A function of a kernel; Numba asks for it by target."""

    targetdescr = Target(NAME, TypingContext(), Context)


def jit(function: Any = None, **options: Any) -> Any:
    """What Numba's overloads are compiled with."""
    if function is None:
        return partial(jit, **options)
    return KernelDispatcher(
        function, targetoptions=options, pipeline_class=KernelCompiler
    )


dispatcher_registry[Kernels] = KernelDispatcher
jit_registry[Kernels] = jit
