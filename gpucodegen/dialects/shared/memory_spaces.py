"""What the memory spaces of all vintages mean: numbers, words, attributes of gpu.

The documents count 0 and 1 as global, 2 as fast memory and 4 as memory of tags; NVVM
counts 3 as shared and 5 as private.
"""

from __future__ import annotations

from enum import Enum

from gpucodegen.ir.attributes import Attribute


class MemorySpace(Enum):
    """Who sees a buffer."""

    GLOBAL = "global"
    SHARED = "shared"
    PRIVATE = "private"
    TAGS = "tags"


_SPELLINGS = {
    MemorySpace.GLOBAL: ("0", "1", "hbm", "global"),
    MemorySpace.SHARED: ("2", "3", "vmem", "shared", "workgroup"),
    MemorySpace.PRIVATE: ("5", "private"),
    MemorySpace.TAGS: ("4",),
}
_MEANINGS = {name: space for space, names in _SPELLINGS.items() for name in names} | {
    f"#gpu{form.format(name)}": space
    for name, space in (
        ("global", MemorySpace.GLOBAL),
        ("workgroup", MemorySpace.SHARED),
        ("private", MemorySpace.PRIVATE),
    )
    for form in (".address_space<{}>", "<address_space {}>")
}
KNOWN = tuple(_MEANINGS)


def meaning(space: Attribute | None) -> MemorySpace | None:
    """The meaning of a memory space, global if there is none; None if unknown.

    >>> from gpucodegen.ir.attributes import StringAttr
    >>> meaning(StringAttr("vmem"))
    <MemorySpace.SHARED: 'shared'>
    """
    if space is None:
        return MemorySpace.GLOBAL
    return _MEANINGS.get(str(getattr(space, "value", space)))


def is_shared(space: Attribute | None) -> bool:
    """Whether a memory space lies in shared memory on a GPU."""
    return meaning(space) is MemorySpace.SHARED
