"""What kernels say: ``vprintf`` and failed assertions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.spaces.accesses import Accesses
from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import Array, Mask, Value, align

_FIELD = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(hh|h|ll|l|z|j|t)?([%a-zA-Z])")
_FLOATS, _WIDE = "fFeEgGaA", ("ll", "l", "z", "j", "t")


class Printing:
    """Text from the lanes of one batch, in their order."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.batch = accesses, accesses.batch

    def vprintf(self, index: int, form: Value, values: Value, mask: Mask) -> Value:
        """Print a line of each lane; how many fields it has."""
        lanes = self.batch.lanes
        forms, places = (np.broadcast_to(v, lanes) for v in (form, values))
        counts = np.zeros(lanes, "i4")
        active = np.arange(lanes) if mask is None else np.flatnonzero(mask)
        for lane in active.tolist():
            text = self._string(index, lane, int(forms[lane]))
            line, counts[lane] = self._formatted(index, lane, text, int(places[lane]))
            self.batch.launch.output(line)
        return counts

    def assertfail(self, index: int, parts: tuple[Value, ...], mask: Mask) -> None:
        """End the kernel with what an assertion says: text, file, line, function."""
        lane = 0 if mask is None else int(np.argmax(mask))
        every = [int(np.broadcast_to(p, self.batch.lanes)[lane]) for p in parts]
        text, file, function = (self._string(index, lane, every[i]) for i in (0, 1, 3))
        place = f"{file}:{every[2]}: {function}"
        self.batch.fault(faults.TRAP, f"assertion {text} failed, {place}", index, lane)

    def _read(self, index: int, lane: int, address: int, kind: str) -> Any:
        alone: Array = np.arange(self.batch.lanes) == lane
        site = Site.of(index, "generic", 0, kind)
        found = self.accesses.load(site, np.int64(address), alone)[0]
        return found if found.ndim == 0 else found[lane]

    def _string(self, index: int, lane: int, address: int) -> str:
        """The text at an address, up to its final zero."""
        octets = bytearray()
        if address >= BASE:
            self._read(index, lane, address, "u1")
            end = self.accesses.memory.allocation(address)[1]
            octets += self.accesses.memory.bytes(address, end - address).tobytes()
            return octets.partition(b"\0")[0].decode(errors="replace")
        while octet := int(self._read(index, lane, address + len(octets), "u1")):
            octets.append(octet)
        return octets.decode(errors="replace")

    def _formatted(
        self, index: int, lane: int, form: str, address: int
    ) -> tuple[str, int]:
        """A text with its fields filled in from packed values, and their number."""
        parts: list[str] = []
        at, last, count = address, 0, 0
        for field in _FIELD.finditer(form):
            parts.append(form[last : field.start()])
            last = field.end()
            flags, length, letter = field.groups()
            if letter == "%":
                parts.append("%")
                continue
            count += 1
            wide = letter in _FLOATS + "sp" or length in _WIDE
            kind = "f8" if letter in _FLOATS else "i8" if wide else "i4"
            at = align(at, 8 if wide else 4)
            value = self._read(index, lane, at, kind)
            at += 8 if wide else 4
            parts.append(self._field(index, lane, flags, letter, value))
        return "".join([*parts, form[last:]]), count

    def _field(self, index: int, lane: int, flags: str, letter: str, value: Any) -> str:
        match letter:
            case "s":
                return f"%{flags}s" % self._string(index, lane, int(value))
            case "p":
                return f"{int(value):#x}"
            case "u" | "x" | "X" | "o":
                whole = int(value) % (1 << 8 * value.dtype.itemsize)
                return f"%{flags}{letter.replace('u', 'd')}" % whole
            case "c":
                return f"%{flags}c" % (int(value) & 255)
            case "a" | "A":
                return float(value).hex()
            case _:
                number = float(value) if letter in _FLOATS else int(value)
                return f"%{flags}{letter}" % number
