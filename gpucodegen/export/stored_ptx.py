"""Kernels of a package that was exported for GPUs: their sources are PTX already.

It takes the place of `gpucodegen.runtime.cuda.compilation`.
"""

from __future__ import annotations

from gpucodegen.runtime.host.spec import KernelSpec

Capability = tuple[object, ...]


def stated_capability(spec: KernelSpec) -> Capability:
    """Nothing is compiled for one any more."""
    del spec
    return ()


def compile_ptx(spec: KernelSpec, cc: Capability = ()) -> str:
    """The PTX that was exported; a driver makes machine code of it for its device."""
    del cc
    return spec.source
