"""Nests and mappings as plain values: the output of `gpucodegen explain --json`.

Unknown values are None.  Places are ``{"file", "line", "column"}``.
"""

from __future__ import annotations

from collections.abc import Mapping as Of
from dataclasses import asdict
from typing import Any

from gpucodegen import errors
from gpucodegen.ir.locations import Location, file_location
from gpucodegen.passes.analysis.work import HostLoop, KernelLaunches
from gpucodegen.passes.outlining.host_accesses import ElementAccesses
from gpucodegen.report.access_facts import (
    extents_needed,
    fronts,
    nest_tree,
    suspects,
    telling_bands,
    tile_footprints,
    tile_sizes,
    walks,
)
from gpucodegen.report.kernels import MappedKernel, Mapping, WorkShare
from gpucodegen.report.schedule_tree import Tree
from gpucodegen.report.subjects import Nest, Subject, location_of
from gpucodegen.tiling.machine.contraction import ContractionShape, OperandAccess
from gpucodegen.tiling.model.isl import Interval
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import Band
from gpucodegen.tiling.proof.liveness import LoopVerdict

Record = dict[str, Any]


def place_record(location: Location) -> Record | None:
    """A place in a file.

    >>> from gpucodegen.ir.locations import FileLoc
    >>> place_record(FileLoc("a.mlir", 3, 5))
    {'file': 'a.mlir', 'line': 3, 'column': 5}
    """
    place = file_location(location)
    if place is None:
        return None
    return {"file": place.filename, "line": place.line, "column": place.column}


def error_record(error: errors.Diagnostic) -> Record:
    """The message of an error, and its places."""
    return {
        "code": error.code,
        "message": error.message,
        "place": place_record(error.location),
        "notes": [
            {"message": note, "place": place_record(place)}
            for place, note in error.notes
        ],
    }


def nest_record(subject: Subject, nest: Nest, number: int) -> Record:
    """All facts about a nest as written."""
    return {
        "nest": number,
        "place": place_record(nest.location),
        "loops": [_loop(verdict) for verdict in nest.verdicts],
        "bands": [_band(band) for band in telling_bands(nest)],
        "fronts": list(fronts(nest)),
        "values": [
            {"live_in": list(part.live_in), "live_out": list(part.live_out)}
            for part in nest.parts
        ],
        "contractions": [_contraction(one) for one in nest.contractions],
        "accesses": [
            {
                "access": walk.name,
                "kind": walk.reference.access.kind.value,
                "step": dict(walk.distances),
            }
            for walk in walks(nest)
        ],
        "tile": tile_sizes(nest),
        "footprint": [asdict(found) for found in tile_footprints(nest)],
        "tree": _tree(nest_tree(nest)),
        "extents_need": extents_needed(subject, nest) or None,
        "not_proven": suspects(subject, nest),
    }


def _loop(verdict: LoopVerdict) -> Record:
    return {
        "name": verdict.loop.name,
        "inside": [loop.name for loop in verdict.outer],
        "place": place_record(location_of(verdict.loop)),
        "kind": verdict.kind.value,
        "affine": not verdict.loop.opaque,
        "operators": list(verdict.operators),
        "reassociable": verdict.reassociable,
        "private": [asdict(private) for private in verdict.private],
        "because": verdict.decisive and _dependence(verdict.decisive),
    }


def _dependence(found: Dependence) -> Record:
    return {
        "kind": found.kind.value,
        "array": found.source.access.array,
        "distance": [_interval(one) for one in found.distance],
        "assumed": found.assumed,
        "witness": None if found.witness is None else str(found.witness),
        "source": place_record(location_of(found.source.access)),
        "sink": place_record(location_of(found.sink.access)),
    }


def _interval(found: Interval) -> list[int | None]:
    return [found.lower, found.upper]


def _band(band: Band) -> Record:
    return {
        "loops": list(band.names),
        "rectangular": band.rectangular,
        "ended_by": None if band.ended_by is None else str(band.ended_by),
    }


def _contraction(found: ContractionShape) -> Record:
    operands = {"output": found.output, "left": found.left, "right": found.right}
    roles = {name: getattr(found.roles, name) for name in ("batch", "m", "n", "k")}
    return {
        **{name: _operand(operand) for name, operand in operands.items()},
        "loops": {name: [loop.name for loop in loops] for name, loops in roles.items()},
    }


def _operand(operand: OperandAccess) -> Record:
    indices = [str(index) for index in operand.access.indices]
    return {"array": operand.array, "indices": indices}


def _tree(tree: Tree) -> Record:
    return {
        "kind": tree.kind.value,
        "text": tree.text,
        "permutable": tree.permutable,
        "coincident": list(tree.coincident),
        "children": [_tree(child) for child in tree.children],
    }


def mapping_record(mapping: Mapping, sizes: Of[str, int]) -> Record:
    """The launches and all kernels of a function on one target."""
    return {
        "target": mapping.target,
        "sizes": dict(sizes),
        "refused": mapping.refusal or None,
        "launches": [_launch(launch) for launch in mapping.launches],
        "element_accesses": [_elements(found) for found in mapping.elements],
        "kernels": [_kernel(kernel) for kernel in mapping.kernels],
    }


def _launch(launch: KernelLaunches) -> Record:
    return {
        "kernel": launch.kernel,
        "host_loops": [_host_loop(loop) for loop in launch.loops],
        "launches": launch.launches,
        "threads": launch.threads,
        "operations": launch.operations,
    }


def _elements(found: ElementAccesses) -> Record:
    return {
        "host_loop": _host_loop(found.loop),
        "loads": found.loads,
        "stores": found.stores,
        "arrays": list(found.arrays),
        "reason": found.reason,
    }


def _host_loop(loop: HostLoop) -> Record:
    name, location = loop
    return {"name": name, "place": place_record(location)}


def _kernel(kernel: MappedKernel) -> Record:
    return {
        "name": kernel.name,
        "lines": list(kernel.lines),
        "grid": list(kernel.grid),
        "block": list(kernel.block),
        "parallel_iterations": kernel.workers,
        "vectors": list(kernel.vectors),
        "shares": [_share(share) for share in kernel.shares],
        "free_of_races": not kernel.objection,
        "objection": kernel.objection or None,
        "updates": list(kernel.updates),
        "tree": _tree(kernel.tree),
    }


def _share(share: WorkShare) -> Record:
    return {
        "array": share.array,
        "memory": share.memory,
        "writes": share.writes,
        "extents": list(share.extents),
        "size": share.size,
        "of_first_thread": len(share.threads[0]) if share.threads else None,
    }
