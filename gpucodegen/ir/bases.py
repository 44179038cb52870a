"""The bases of the two families that hold one another.

Types have attributes, such as a memref's layout, and attributes have types.
"""

from __future__ import annotations


class Type:
    """Base of all types."""

    __slots__ = ()


class Attribute:
    """Base of all attributes."""

    __slots__ = ()
