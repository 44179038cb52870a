"""Exports a CPU kernel as an object file that C programs link, without Python.

The result is position-independent code for this kind of processor with one function of
the kernel's name, and its C declaration.  The kernel runs on the calling thread.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from dataclasses import replace
from typing import Any

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.records import dataclass
from gpucodegen.runtime.cpu import kernels
from gpucodegen.runtime.host.spec import KernelSpec, Param
from gpucodegen.runtime.storage import machine_code
from gpucodegen.runtime.storage.machine_code import C_LIBRARY

WORDS = {"i1", "i8", "i16", "i32", "i64", "float", "double", "ptr"}
"""The types of LLVM that C passes in one register."""
NAMES = {
    "bool": "bool",
    "boolean": "bool",
    "float32": "float",
    "float64": "double",
    "complex64": "float",
    "complex128": "double",
    "index": "int64_t",
}
"""C types of elements; a complex number has two parts."""


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """Machine code, and the C declaration of its function."""

    code: bytes
    declaration: str


def compiled(spec: KernelSpec) -> ObjectFile:
    """The object file of a kernel.  Raises NotExportable if it needs parts of Numba."""
    import llvmlite.binding as llvm

    alone = replace(spec, parallel=False, threads=1)
    dispatcher, types = kernels.dispatcher_of(alone)
    dispatcher.compile(types)
    made = dispatcher.overloads[types]
    text = str(made.library._final_module)  # noqa: SLF001
    module = llvm.parse_assembly(text)
    inner = module.get_function(made.fndesc.llvm_func_name)
    arguments = [str(argument.type) for argument in inner.arguments][2:]
    _check(spec, [a for a in arguments if a not in WORDS], "passes")
    module = llvm.parse_assembly(text + _entry(spec.name, inner.name, arguments))
    for function in module.functions:
        if not function.is_declaration and function.name != spec.name:
            function.linkage = "internal"
    machine = _machine()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    _check(spec, _unknown(module), "calls")
    declared = ", ".join(map(_declared, spec.params))
    assert declared.count(",") + 1 == max(len(arguments), 1)
    declaration = f"int32_t {spec.name}({declared or 'void'});"
    return ObjectFile(machine.emit_object(module), declaration)


def _machine() -> Any:
    """The LLVM target machine of the host, for position-independent code."""
    import llvmlite.binding as llvm

    machine_code.machine()  # LLVM knows the host from now on
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="default",
    )


def _entry(name: str, inner: str, arguments: list[str]) -> str:
    """A function of the kernel's arguments alone, which returns Numba's status.

    Numba's own takes two more: pointers to its result and to an exception.
    """
    taken = ", ".join(f"{kind} %a{n}" for n, kind in enumerate(arguments))
    return f"""
define i32 @"{name}"({taken}) {{
  %result = alloca ptr
  %raised = alloca ptr
  store ptr null, ptr %result
  store ptr null, ptr %raised
  %status = call i32 @"{inner}"(ptr %result, ptr %raised{
        "".join(f", {kind} %a{n}" for n, kind in enumerate(arguments))
    })
  ret i32 %status
}}
"""


def _unknown(module: Any) -> list[str]:
    """Symbols that neither the module nor the C libraries define."""
    libraries = [ctypes.CDLL(C_LIBRARY)]
    mathematics = ctypes.util.find_library("m")
    if mathematics:
        libraries.append(ctypes.CDLL(mathematics))
    own = ("numba", "NRT", "Py", "_Py", "gpucodegen")
    return [
        symbol.name
        for symbol in (*module.functions, *module.global_variables)
        if symbol.is_declaration
        and not symbol.name.startswith("llvm.")
        and (
            symbol.name.startswith(own)
            or not any(hasattr(library, symbol.name) for library in libraries)
        )
    ]


def _check(spec: KernelSpec, found: list[str], what: str) -> None:
    if found:
        reason = f"kernel {spec.name} {what} {', '.join(sorted(set(found)))}"
        hint = "C has no such thing: export a package, which runs in Python"
        raise errors.NotExportable(function=spec.name, reason=reason, hint=hint)


def _declared(param: Param) -> str:
    """A parameter in C.

    >>> _declared(Param("A", "pointer", "f32", writable=False))
    'const float *A'
    >>> _declared(Param("z", "scalar", "complex<f32>"))
    'float z_real, float z_imag'
    >>> _declared(Param("n", "scalar", "index")), _declared(Param("x", "pointer", "i8"))
    ('int64_t n', 'int8_t *x')
    """
    if param.kind != "pointer":
        kind = _name(element(param.dtype).carrier, param.dtype)
        if param.dtype.startswith("complex"):  # Numba passes its parts
            return f"{kind} {param.name}_real, {kind} {param.name}_imag"
        return f"{kind} {param.name}"
    constant = "" if param.writable else "const "
    kind = _name(str(element(param.dtype).storage), param.dtype)
    return f"{constant}{kind} *{param.name}"


def _name(kind: str, dtype: str) -> str:
    return NAMES.get(dtype) or NAMES.get(kind) or f"{kind}_t"
