"""Functions, branches, loops: func, cf, scf, affine, ub."""

from __future__ import annotations
