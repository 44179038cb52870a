"""Tensor maps: what the copy engine of sm_90 knows of a tensor in global memory.

Comes in: a buffer, and the box of it that one copy moves.  Goes out: a `TensorForm`,
checked as the driver checks it, and its 128 bytes, which the driver alone can write.
CUDA Driver API, "cuTensorMapEncodeTiled".
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.runtime.devices.protocol import MAP_WORDS, TensorForm
from gpucodegen.runtime.host.buffers import Buffer

_CODES = {
    "ui8": 0,
    "i8": 0,
    "si8": 0,
    "f8E4M3FN": 0,
    "f8E5M2": 0,
    "i16": 1,
    "i32": 3,
    "i64": 5,
    "f16": 6,
    "f32": 7,
    "f64": 8,
    "bf16": 9,
}
"""CU_TENSOR_MAP_DATA_TYPE; bytes of any meaning are UINT8."""
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_PROMOTIONS = {0: 0, 64: 1, 128: 2, 256: 3}
_MOST_BOX, _MOST_RANK, _PIECE = 256, 5, 16


def form_of(
    buffer: Buffer, box: Sequence[int], swizzle: int, promotion: int
) -> TensorForm:
    """A buffer and a box of it, the last dimension first; refused as by a driver."""
    size = buffer.array.itemsize
    extents = tuple(buffer.shape[::-1])
    strides = tuple(step * size for step in buffer.strides[-2::-1])
    form = TensorForm(
        buffer.pointer,
        buffer.dtype,
        size,
        extents,
        strides if len(extents) > 1 else (),
        tuple(map(int, box[::-1])),
        swizzle,
        promotion,
    )
    inner = buffer.strides[-1] if buffer.strides else 0
    problem = _problem(form, inner)
    if problem:
        raise errors.WrongTensorMap(
            shape=list(buffer.shape), box=list(box), problem=problem
        )
    return form


def _problem(form: TensorForm, inner: int) -> str:
    """What a driver would say, or nothing."""
    row = form.box[0] * form.size if form.box else 0
    rules = {
        f"{form.element} is no element that copies know": form.element not in _CODES,
        f"the box has {len(form.box)} extents": len(form.box) != len(form.extents),
        f"tensors have 1 to {_MOST_RANK} dimensions": not (
            1 <= len(form.extents) <= _MOST_RANK
        ),
        "the last stride is not 1": inner != 1,
        f"its address {form.address:#x} is no multiple of {_PIECE}": (
            form.address % _PIECE != 0
        ),
        f"rows are not multiples of {_PIECE} bytes apart": any(
            stride % _PIECE for stride in form.strides
        ),
        f"a row of the box has {row} bytes, no multiple of {_PIECE}": row % _PIECE != 0,
        f"a row of the box has {row} bytes, more than the swizzle's {form.swizzle}": (
            0 < form.swizzle < row
        ),
        f"the box has an extent outside of 1 to {_MOST_BOX}": not all(
            1 <= n <= _MOST_BOX for n in form.box
        ),
    }
    return next((text for text, broken in rules.items() if broken), "")


def encoded(form: TensorForm) -> np.ndarray[Any, Any]:
    """The words of a map, as the driver of this machine writes them."""
    rank = len(form.extents)
    room = (ctypes.c_uint64 * (MAP_WORDS + 8))()
    start = ctypes.addressof(room)
    start += -start % 64
    status = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(start),
        ctypes.c_int(_CODES[form.element]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(form.address),
        (ctypes.c_uint64 * rank)(*form.extents),
        (ctypes.c_uint64 * max(1, rank - 1))(*form.strides),
        (ctypes.c_uint32 * rank)(*form.box),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        ctypes.c_int(0),
        ctypes.c_int(_SWIZZLES[form.swizzle]),
        ctypes.c_int(_PROMOTIONS[form.promotion]),
        ctypes.c_int(0),
    )
    if status:
        raise errors.WrongTensorMap(
            shape=list(form.extents[::-1]),
            box=list(form.box[::-1]),
            problem=f"the driver refuses it: error {status}",
        )
    words = (ctypes.c_int64 * MAP_WORDS).from_address(start)
    return np.array(words, np.int64)


def _driver() -> Any:
    return ctypes.CDLL(ctypes.util.find_library("cuda") or "libcuda.so.1")
