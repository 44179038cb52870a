"""Loads of PTX, narrowed to the bytes that the program reads.

LLVM's load-store vectorizer merges loads of neighbouring addresses.  Where it finds
three, five or seven of eight, it loads all if the address is aligned to them, since
the hardware reads aligned words as a whole; those bytes may lie outside of the buffer.
From PTX 8.3 on LLVM notes the bytes that are read in front of such a load:

    .pragma "used_bytes_mask 0x3ff";
    ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];

The pragma goes, and the load ends with the last of these bytes:

    ld.global.v2.b32 {%r1, %r2}, [%rd1];
    ld.global.b16 %r3, [%rd1+8];

Bytes between those that are read stay in the load: they lie inside of the buffer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpucodegen.records import dataclass

NOTED_FROM = 83
"""The oldest PTX for which LLVM notes the bytes that are read: 8.3."""
_NOTED = re.compile(
    r"\t\.pragma \"used_bytes_mask (?P<mask>0x[0-9a-f]+)\";\n"
    r"\t(?P<name>ld[\w.:]*?)(?:\.v\d+)?\.[bfsu](?P<bits>\d+) *\t?"
    r"(?P<registers>[^\[]+), \[(?P<address>[^\]]+)\];\n"
)


def narrowed(ptx: str) -> str:
    r"""PTX whose loads end with the last byte that the program reads.

    >>> note = '\t.pragma "used_bytes_mask 0xfff";\n'
    >>> load = "\tld.global.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd1+16];\n"
    >>> print(narrowed(note + load).expandtabs(4), end="")
        ld.global.v2.b32    {%r1, %r2}, [%rd1+16];
        ld.global.b32   %r3, [%rd1+24];
    """
    return _NOTED.sub(_exact, ptx)


def _exact(noted: re.Match[str]) -> str:
    used, size = int(noted["mask"], 16).bit_length(), int(noted["bits"]) // 8
    registers = noted["registers"].strip().strip("{}").split(", ")
    load = _Load(noted["name"], size, noted["address"])
    whole, rest = divmod(used, size)
    lines = load.whole(registers[:whole])
    if rest:
        lines += load.partial(registers[whole], whole * size, rest)
    return "".join(f"\t{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class _Load:
    """A load's name up to its type, the bytes of its elements, and its address."""

    name: str
    size: int
    address: str

    def whole(self, registers: list[str]) -> list[str]:
        """Loads of whole registers, by vectors of powers of two."""
        lines: list[str] = []
        for first, count in _powers(len(registers)):
            some = registers[first : first + count]
            vector = f".v{count}" if count > 1 else ""
            listed = f"{{{', '.join(some)}}}" if count > 1 else some[0]
            place = self._at(first * self.size)
            lines.append(f"{self.name}{vector}.b{8 * self.size} \t{listed}, {place};")
        return lines

    def partial(self, register: str, start: int, count: int) -> list[str]:
        """Loads of the first bytes of a register; the others become zero."""
        (_, bytes_), *more = _powers(count)
        kind = f"b{8 * self.size}"
        lines = [f"{self.name}.b{8 * bytes_} \t{register}, {self._at(start)};"]
        for first, bytes_ in more:
            lines += [
                "{",
                f".reg .{kind} \t%part;",
                f"{self.name}.b{8 * bytes_} \t%part, {self._at(start + first)};",
                f"shl.{kind} \t%part, %part, {8 * first};",
                f"or.{kind} \t{register}, {register}, %part;",
                "}",
            ]
        return lines

    def _at(self, offset: int) -> str:
        base, _, known = self.address.partition("+")
        total = int(known or 0) + offset
        return f"[{base}+{total}]" if total else f"[{base}]"


def _powers(count: int) -> Iterator[tuple[int, int]]:
    """Starts and lengths of parts that are powers of two, the longest first.

    >>> list(_powers(7))
    [(0, 4), (4, 2), (6, 1)]
    """
    start = 0
    for bit in reversed(range(count.bit_length())):
        if count >> bit & 1:
            yield start, 1 << bit
            start += 1 << bit
