"""Tables of renamed operations, and lookup of readers for old operations.

Each vintage has a table in its own module; the lookup searches them in order. Names
without a dialect may also be written with ``std.``.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable

from gpucodegen.dialects.framework.syntax import State
from gpucodegen.parser.legacy import (
    generic_forms,
    linalg,
    text_2018,
    text_2019,
    text_2020,
    vector,
)
from gpucodegen.parser.legacy import vector as vector_generic
from gpucodegen.parser.parser import Parser

RENAMED: dict[str, str] = {
    "absf": "math.absf",
    "addcf": "complex.add",
    "addf": "arith.addf",
    "addi": "arith.addi",
    "affine.terminator": "affine.yield",
    "affine_apply": "affine.apply",
    "alloc": "memref.alloc",
    "alloca": "memref.alloca",
    "alloca_scope": "memref.alloca_scope",
    "and": "arith.andi",
    "arith.maxf": "arith.maximumf",
    "arith.minf": "arith.minimumf",
    "assert": "cf.assert",
    "assume_alignment": "memref.assume_alignment",
    "atan": "math.atan",
    "atan2": "math.atan2",
    "atomic_rmw": "memref.atomic_rmw",
    "atomic_yield": "memref.atomic_yield",
    "bitcast": "arith.bitcast",
    "br": "cf.br",
    "br_cond": "cf.cond_br",
    "bufferization.to_memref": "bufferization.to_buffer",
    "call": "func.call",
    "call_indirect": "func.call_indirect",
    "ceildivi_signed": "arith.ceildivsi",
    "ceilf": "math.ceil",
    "clone": "bufferization.clone",
    "cmpf": "arith.cmpf",
    "cmpi": "arith.cmpi",
    "cond_br": "cf.cond_br",
    "constant": "arith.constant",
    "copy": "memref.copy",
    "copysign": "math.copysign",
    "cos": "math.cos",
    "create_complex": "complex.create",
    "ctlz": "math.ctlz",
    "ctpop": "math.ctpop",
    "cttz": "math.cttz",
    "dealloc": "memref.dealloc",
    "dim": "memref.dim",
    "divf": "arith.divf",
    "divi_signed": "arith.divsi",
    "divi_unsigned": "arith.divui",
    "divis": "arith.divsi",
    "diviu": "arith.divui",
    "dma_start": "memref.dma_start",
    "dma_wait": "memref.dma_wait",
    "dynamic_tensor_from_elements": "tensor.generate",
    "erf": "math.erf",
    "exp": "math.exp",
    "exp2": "math.exp2",
    "expm1": "math.expm1",
    "floordivi_signed": "arith.floordivsi",
    "floorf": "math.floor",
    "fmaf": "math.fma",
    "fpext": "arith.extf",
    "fptosi": "arith.fptosi",
    "fptoui": "arith.fptoui",
    "fptrunc": "arith.truncf",
    "func": "func.func",
    "generic_atomic_rmw": "memref.generic_atomic_rmw",
    "get_global_memref": "memref.get_global",
    "global_memref": "memref.global",
    "gpu.device_async_copy": "nvgpu.device_async_copy",
    "gpu.device_async_create_group": "nvgpu.device_async_create_group",
    "gpu.device_async_wait": "nvgpu.device_async_wait",
    "im": "complex.im",
    "index_cast": "arith.index_cast",
    "linalg.dim": "memref.dim",
    "linalg.init_tensor": "tensor.empty",
    "linalg.load": "memref.load",
    "linalg.store": "memref.store",
    "load": "memref.load",
    "log": "math.log",
    "log10": "math.log10",
    "log1p": "math.log1p",
    "log2": "math.log2",
    "loop.condition": "scf.condition",
    "loop.for": "scf.for",
    "loop.if": "scf.if",
    "loop.parallel": "scf.parallel",
    "loop.reduce": "scf.reduce",
    "loop.reduce.return": "scf.reduce.return",
    "loop.terminator": "scf.yield",
    "loop.while": "scf.while",
    "loop.yield": "scf.yield",
    "math.abs": "math.absf",
    "maxf": "arith.maximumf",
    "maxsi": "arith.maxsi",
    "maxui": "arith.maxui",
    "memref.clone": "bufferization.clone",
    "memref.buffer_cast": "bufferization.to_buffer",
    "memref.tensor_load": "bufferization.to_tensor",
    "memref_cast": "memref.cast",
    "memref_reinterpret_cast": "memref.reinterpret_cast",
    "memref_reshape": "memref.reshape",
    "minf": "arith.minimumf",
    "minsi": "arith.minsi",
    "minui": "arith.minui",
    "mulf": "arith.mulf",
    "muli": "arith.muli",
    "negf": "arith.negf",
    "or": "arith.ori",
    "powf": "math.powf",
    "prefetch": "memref.prefetch",
    "rank": "memref.rank",
    "re": "complex.re",
    "remf": "arith.remf",
    "remi_signed": "arith.remsi",
    "remi_unsigned": "arith.remui",
    "remis": "arith.remsi",
    "remiu": "arith.remui",
    "return": "func.return",
    "round": "math.round",
    "roundeven": "math.roundeven",
    "rsqrt": "math.rsqrt",
    "scf.foreach_thread.parallel_insert_slice": "tensor.parallel_insert_slice",
    "scf.foreach_thread.perform_concurrently": "scf.forall.in_parallel",
    "scf.terminator": "scf.yield",
    "select": "arith.select",
    "sexti": "arith.extsi",
    "shape.join": "shape.meet",
    "shift_left": "arith.shli",
    "shift_right_signed": "arith.shrsi",
    "shift_right_unsigned": "arith.shrui",
    "shlis": "arith.shli",
    "shrs": "arith.shrsi",
    "sin": "math.sin",
    "sitofp": "arith.sitofp",
    "splat": "tensor.splat",
    "sqrt": "math.sqrt",
    "store": "memref.store",
    "subcf": "complex.sub",
    "subf": "arith.subf",
    "subi": "arith.subi",
    "subtensor": "tensor.extract_slice",
    "subtensor_insert": "tensor.insert_slice",
    "subview": "memref.subview",
    "switch": "cf.switch",
    "tanh": "math.tanh",
    "tensor_cast": "tensor.cast",
    "tensor_load": "bufferization.to_tensor",
    "tensor_from_elements": "tensor.from_elements",
    "tensor_to_memref": "bufferization.to_buffer",
    "transpose": "memref.transpose",
    "trunci": "arith.trunci",
    "uitofp": "arith.uitofp",
    "unrealized_conversion_cast": "builtin.unrealized_conversion_cast",
    "vector.extractelement": "vector.extract",
    "vector.insertelement": "vector.insert",
    "vector.splat": "vector.broadcast",
    "vector.strided_slice": "vector.extract_strided_slice",
    "vector.warp_execute_on_lane_0": "gpu.warp_execute_on_lane_0",
    "vector_type_cast": "vector.type_cast",
    "view": "memref.view",
    "xor": "arith.xori",
    "zexti": "arith.extui",
}


OldForm = Callable[[Parser, State], None]

_FORMS = ChainMap(
    text_2019.FORMS,
    text_2018.FORMS,
    text_2020.SCF_FORMS,
    vector.FORMS,
    text_2020.VIEW_FORMS,
)
_SPELLINGS = ChainMap(
    text_2020.SPELLINGS,
    text_2020.GPU_SPELLINGS,
    linalg.SPELLINGS,
    vector.SPELLINGS,
)
_GENERIC = ChainMap(generic_forms.GENERIC, text_2018.GENERIC)

is_of_2018 = text_2018.is_of_2018
is_of_2021 = text_2019.is_of_2021


def lookup(name: str) -> OldForm | None:
    """The reader of an old operation's text after its name, if a vintage has one."""
    name = name.removeprefix("std.")
    form = linalg.lookup(name) or _FORMS.get(name)
    if form is None and name in RENAMED:
        form = text_2019.renamed(RENAMED[name])
    return form


def modern_name(p: Parser, name: str) -> str | None:
    """Today's name of an operation written in generic form under an old name.

    Names without a dialect are old only in text that has functions of before 2022.
    """
    plain = name.removeprefix("std.")
    if plain == name and "." not in name and not p.is_of_2021:
        return None
    return linalg.modern_name(name) or RENAMED.get(plain)


def adapt_generic(p: Parser, state: State, *, renamed: bool) -> None:
    """Convert an operation in generic form to today's attributes and operands."""
    tables = (
        _GENERIC,
        text_2020.GENERIC,
        linalg.GENERIC,
        vector_generic.GENERIC,
        text_2020.VIEW_GENERIC,
    )
    for table in tables if renamed else tables[1:]:
        adapter = table.get(state.name)
        if adapter is not None:
            adapter(p, state)


bare_signature = generic_forms.bare_signature
function_results = generic_forms.function_results


def is_old_spelling(p: Parser, name: str, state: State) -> bool:
    """Read the operation in an old form; False if its text is today's."""
    spelling = _SPELLINGS.get(name)
    return spelling is not None and spelling(p, state)
