"""Replaces `gpucodegen.runtime.cuda.compilation` in packages exported for GPUs.

The kernels' sources are already PTX.
"""

from __future__ import annotations

from gpucodegen.runtime.host.spec import KernelSpec

Capability = tuple[object, ...]


def stated_capability(spec: KernelSpec) -> Capability:
    """None, since nothing is compiled."""
    del spec
    return ()


def compile_ptx(spec: KernelSpec, cc: Capability = ()) -> str:
    """The exported PTX; the driver compiles it for its device."""
    del cc
    return spec.source
