"""Machine code facts of a kernel: assembler statistics and the main loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpucodegen.records import dataclass
from gpucodegen.report.gpu.model import LoopFacts, MachineAccesses
from gpucodegen.runtime.cuda.compilation import (
    Cubin,
    compile_cubin,
    disassemble,
    has_assembler,
    tool,
)
from gpucodegen.sass.listing import (
    MachineInstruction,
    in_flight,
    listings,
    main_loop,
    mix,
    widths,
)

if TYPE_CHECKING:
    from gpucodegen.runtime.host.spec import KernelSpec

_UNITS = {"FFMA": "fma", "DFMA": "double", "MUFU": "special", "MMA": "tensor"}
_MORE = {"HFMA2": "fma", "compare": "integer", "LDS": "shared", "STS": "shared"}
_COUNTED = ("fma", "double", "tensor", "global", "shared")
"""Units that an unrolled loop uses as often as its trips together."""
NAMES = _UNITS | _MORE | {"LDG": "global", "STG": "global", "LDGSTS": "global"}


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A kernel's machine code; ``mix`` is that of its main loop, by SASS kinds.

    ``text``: its instructions; none where it was not disassembled.
    """

    cubin: Cubin
    mix: dict[str, int]
    text: tuple[MachineInstruction, ...] = ()

    @staticmethod
    def of(cubin: Cubin, *, disassembled: bool) -> MachineCode:
        """The machine code; without a disassembler the loop is unknown."""
        if not disassembled:
            return MachineCode(cubin, {})
        listing = listings(disassemble(cubin.code))[cubin.name]
        loop = main_loop(listing) or listing.instructions
        return MachineCode(cubin, dict(mix(loop).most_common()), listing.instructions)

    @property
    def accesses(self) -> MachineAccesses | None:
        """Facts about all accesses; None where it was not disassembled."""
        if not self.text:
            return None
        found = {name: dict(counts) for name, counts in widths(self.text).items()}
        return MachineAccesses(found, in_flight(self.text))

    def loop(self, ptx: LoopFacts) -> LoopFacts | None:
        """A trip of the main loop, with the trip count of the PTX loop.

        Where the assembler unrolled it, one trip covers several of the PTX: the factor
        follows from arithmetic instructions if there are some, else from accesses.
        """
        if not self.mix:
            return None
        total = sum(self.mix.values())
        kinds = self.units()
        both = (n for n in _COUNTED if ptx.kinds.get(n) and kinds.get(n))
        work = next(both, None)
        times = kinds[work] / ptx.kinds[work] if work else 1.0
        return LoopFacts(
            ptx.trips / times,
            total,
            float(total),
            ptx.wavefronts * times,
            ptx.sectors * times,
            self.mix,
        )

    def units(self) -> dict[str, int]:
        """The mix by units, like that of the PTX."""
        found: dict[str, int] = {"integer": 0, "special": 0}
        for name, count in self.mix.items():
            unit = NAMES.get(name, name)
            found[unit] = found.get(unit, 0) + count
        return found


def machine_code_of(spec: KernelSpec, capability: Any) -> MachineCode | None:
    """The machine code of a kernel; None without the assembler."""
    if not has_assembler():
        return None
    cubin = compile_cubin(spec, capability)
    return MachineCode.of(cubin, disassembled=bool(tool("nvdisasm")))
