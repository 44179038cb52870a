"""The layout of call records of `direct_launch`, and of the objects compared with them.

A record is made of words: first those below; then, for each parameter of the kernel,
the position of its argument; then pairs of arguments that must not overlap; then, for
each argument, facts of the array, its extents and its strides in bytes.
"""

from __future__ import annotations

ENTRY = "gpucodegen_direct_launch"
WORD_BYTES = 8

KERNEL = 0
"""The address of the kernel."""
PARAMETERS, PAIRS, ARRAYS = 1, 2, 3
"""The numbers of parameters, pairs and arrays."""
VARIABLE = 4
"""The name of a variable of the environment that must not be set."""
ARRAY_TYPE = 5
"""The type that the arguments have."""
DONE, DECLINED = 6, 7
"""The results of a call that ran the kernel, and of one that did not."""
HEADER = 8

ONE, OTHER, LEAST, MOST = range(4)
"""Of a pair: two positions, and the distances of addresses between which the arrays
overlap."""
PAIR = 4

ELEMENTS, ACCESS, RANK = range(3)
"""Of an array: its dtype, its flag `ACCESS_FLAG`, the number of its dimensions."""
FACTS = 3

MOST_ARRAYS = 8
"""Kernels with more parameters are called through Python."""

CONTENTS = bytes.__basicsize__ - 1
"""Where the contents of a `bytes` object begin."""
ITEMS = tuple.__basicsize__
"""Where the items of a tuple begin."""
TYPE = object.__basicsize__ - WORD_BYTES
"""Where an object has its type."""

DATA, DIMENSIONS, SHAPE, STRIDES, DTYPE, FLAGS = (
    object.__basicsize__ + WORD_BYTES * field for field in (0, 1, 2, 3, 5, 6)
)
"""`PyArrayObject_fields`: the fifth one, which is left out, is the base."""
OBJECTS = (CONTENTS, ITEMS, TYPE, DATA, DIMENSIONS, SHAPE, STRIDES, DTYPE, FLAGS)
"""Interpreter-dependent offsets: part of the key of the compiled code."""
INT = 0xFFFFFFFF
"""The bits of a C ``int`` in a word."""
ACCESS_FLAG = 0x0400
"""``NPY_ARRAY_WRITEABLE``."""
