"""Catalogue of failures and warnings: one class each, with a stable code.

``Error`` is the base; ``ParseError``, ``VerifyError``, ``CompileError`` and
``LaunchError`` are the families. A class holds a ``template``, filled from keyword
arguments, and a ``remedy``, the last sentence:

>>> from gpucodegen import errors
>>> error = errors.UnknownOperation(name="a.b")
>>> error.code, isinstance(error, errors.ParseError)
('P005', True)
>>> print(error)
error: unknown operation 'a.b'. Check the spelling, or allow unregistered operations
"""

from __future__ import annotations

from gpucodegen.errors.base import *
from gpucodegen.errors.compile import *
from gpucodegen.errors.faults import *
from gpucodegen.errors.launch import *
from gpucodegen.errors.parse import *
from gpucodegen.errors.python import *
from gpucodegen.errors.verify import *
from gpucodegen.errors.warnings import *
from gpucodegen.errors.warnings import tell as tell
