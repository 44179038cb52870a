"""Serialisation of records as JSON: data only, no code.

Records of the classes named here consist of numbers, texts, tuples, mappings with text
keys, and arrays.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from importlib import import_module
from typing import Any, cast

import numpy as np

from gpucodegen.runtime.storage.cache import Store

RECORDS: dict[str, str] = {
    "AffineMap": "gpucodegen.ir.affine",
    "Binary": "gpucodegen.ir.affine",
    "Const": "gpucodegen.ir.affine",
    "Constant": "gpucodegen.runtime.host.spec",
    "Dim": "gpucodegen.ir.affine",
    "FileLoc": "gpucodegen.ir.locations",
    "KernelSpec": "gpucodegen.runtime.host.spec",
    "Param": "gpucodegen.runtime.host.spec",
    "Parameter": "gpucodegen.runtime.host.arguments",
    "PlannedTransfer": "gpucodegen.emit.copy_plan",
    "StatedLaunch": "gpucodegen.runtime.host.spec",
    "Sym": "gpucodegen.ir.affine",
}
"""The classes of records, by name, and their modules, imported when one is read."""
CLASS, ARRAY = "class", "array"
NUMBERS = "biufc"
"""Kinds of NumPy types whose elements are plain bytes."""


def dumped(record: object) -> bytes:
    """A record as bytes.  Raises TypeError for anything but data.

    >>> from gpucodegen.runtime.host.spec import Param
    >>> dumped(Param("x", "scalar", "f32"))[:35]
    b'{"class":"Param","name":"x","kind":'
    >>> loaded(dumped(Param("x", "scalar", "f32"))).dtype
    'f32'
    """
    return json.dumps(_written(record), separators=(",", ":")).encode()


def loaded(content: bytes) -> Any:
    """The record in bytes; lists become tuples.  Raises ValueError, among others."""
    return _read(json.loads(content))


def keep(store: Store, key: str, record: object) -> None:
    """Stores a record; one that is more than data is not stored."""
    with suppress(TypeError):
        store.put(key, dumped(record))


def kept(store: Store, key: str) -> Any | None:
    """The stored record, or None if it is missing or does not load."""
    content = store.get(key)
    with suppress(Exception):  # whatever a record of another form raises
        return None if content is None else loaded(content)
    return None


def _written(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            return [_written(each) for each in cast("list[Any]", value)]
        case np.ndarray():
            return _array(cast("np.ndarray[Any, Any]", value))
        case Mapping():
            given = cast("Mapping[Any, Any]", value)
            if CLASS in given or not all(type(key) is str for key in given):
                raise TypeError(given)
            return {key: _written(each) for key, each in given.items()}
        case _:
            name, module = type(value).__name__, type(value).__module__
            if RECORDS.get(name) != module:
                raise TypeError(value)
            given = [field.name for field in fields(value) if field.init]
            parts = {name: _written(getattr(value, name)) for name in given}
            return {CLASS: name, **parts}


def _array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype.kind not in NUMBERS:
        raise TypeError(array)
    data = b64encode(array.tobytes()).decode()
    return {CLASS: ARRAY, "dtype": array.dtype.str, "shape": array.shape, "data": data}


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_read, cast("list[Any]", value)))
    if not isinstance(value, dict):
        return value
    parts = {key: _read(part) for key, part in cast("dict[str, Any]", value).items()}
    name = parts.pop(CLASS, None)
    if name is None:
        return parts
    if name == ARRAY:
        elements = np.frombuffer(b64decode(parts["data"]), parts["dtype"])
        return elements.reshape(parts["shape"])
    return getattr(import_module(RECORDS[name]), name)(**parts)
