"""Selects the GPU kernel of a contraction: the plan of least estimated clocks.

`plan_contraction` enumerates the plans of all kinds (`product_tiles`) that fit the
device, counts their work (`product_work`, `fragments`, `warpgroups`) and prices it by
`estimate`, from published data of the device and corrections measured on an H100
(``bench/results/gpu``).  `words_pay` compares products of bytes with products of packed
words (``dp4a``): two kernels pack the operands, reading and writing each byte once;
then one integer instruction multiplies four terms of K.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil
from statistics import geometric_mean
from typing import Any

from gpucodegen.tiling.machine.dot_kernels import (
    BYTE,
    WORD,
    PackedDots,
    Part,
)
from gpucodegen.tiling.machine.gpu.devices import (
    DEVICES,
    SECTOR,
    WARP,
    GpuDevice,
    devices_of,
    occupancy,
    portable_shared,
)
from gpucodegen.tiling.machine.gpu.estimate import Estimate, Unit, Work, estimate
from gpucodegen.tiling.machine.gpu.fragments import (
    FragmentCounts,
    terms_of,
)
from gpucodegen.tiling.machine.gpu.product_tiles import (
    CANDIDATES,
    DOUBLES,
    FRAGMENTS,
    STAGES,
    THREE_QUARTERS,
    Candidate,
    SharedTiles,
    WarpgroupTiles,
    WarpTiles,
    even_depth,
    wastes_less,
)
from gpucodegen.tiling.machine.gpu.product_work import (
    GROUPS,
    Counts,
    Product,
    blocks_of_plan,
    memory,
    partial_sums,
)
from gpucodegen.tiling.machine.gpu.shared_copies import DOUBLE
from gpucodegen.tiling.machine.gpu.warpgroups import (
    WarpgroupCounts,
    band_heights,
    may_split,
    warpgroup_tiles,
)
from gpucodegen.tiling.machine.plan_space import Choose, least

DEFAULT = DEVICES["H100"]
"""The device that kernels are planned for."""
WARPS = 24
"""Warps of a multiprocessor beyond which more are not worth fewer registers."""
SHARPNESS, BLUNTNESS = 8, 2
"""Exponents of the soft maximum: assumed in general; measured for contending units.

The blunt one is of units that hold each other up (`CONTENDING`).
"""
BANDS = 1 / 300
"""Share of a loop's instructions that bands of tiles add, as compiled for f64."""
UNEVEN = 1 / 10
"""Share of time for computing the line of each K tile: an assumption.

A loop of a convolution of 64 channels has 1/8 more instructions then, as compiled.
"""
CONTENDING = Unit.SHARED, Unit.TENSOR, Unit.L2
"""Units that slow each other down in kernels of `mma.sync`: fragments, products,
copies.

The estimate is the Euclidean norm of their clocks.  On an H100, 18 plans of an f16
product took 0.89 to 1.1 times that, i8 and tf32 1.13 to 1.2, two convolutions 1.28.
Products of f64 take tensor cores so long that these alone count, as measured.
"""
USUAL = (256, 1024, 4096)
"""Extents that stand for an unknown one: a plan must serve small ones and large."""


def plan_contraction(
    *products: Product,
    splits: tuple[int, ...] = (1,),
    device: GpuDevice | None = None,
    choose: Choose = least,
    warpgroups: bool = False,
    bands: bool = False,
) -> Candidate:
    """The kernel of a contraction; ``splits``: the split-K factors to consider.

    ``device``: its data and shared memory are used.  Without one, the data of `DEFAULT`
    and the shared memory that every device has.  ``warpgroups``: include plans that
    only devices of sm_90 can run.  ``bands``: include every tile order of each plan,
    not only the cheapest.

    Several products stand for one with unknown extents.  Its kernel has the least
    geometric mean of clocks over them, with one tile per block.

    >>> plans = [plan_contraction(Product(n, n, n)) for n in (256, 1024, 4096)]
    >>> [(plan.tile_rows, plan.tile_columns) for plan in plans]
    [(32, 32), (64, 64), (128, 128)]
    >>> plan_contraction(Product(256, 256, 16384), splits=(1, 8)).splits
    8
    >>> open_ = plan_contraction(*(Product(n, n, n) for n in USUAL))
    >>> (open_.tile_rows, open_.tile_columns)
    (64, 64)
    """
    kinds = {"warpgroups": warpgroups, "bands": bands}
    plans, clocks = offered(*products, splits=splits, device=device, **kinds)
    return choose(plans, clocks.__getitem__)


class Clocks(dict[Candidate, float]):
    """The estimated clocks of plans, computed when they are needed.

    ``known``: those of plans for the first product.
    """

    def __init__(self, products: Sequence[Product], device: GpuDevice) -> None:
        super().__init__()
        self.products, self.device = products, device
        self.known = dict[Candidate, float]()

    def __missing__(self, plan: Candidate) -> float:
        others = (clocks_of(plan, each, self.device) for each in self.products[1:])
        return self.setdefault(plan, geometric_mean([self.of_first(plan), *others]))

    def of_first(self, plan: Candidate) -> float:
        """The clocks of a plan for the first product."""
        if plan not in self.known:
            self.known[plan] = clocks_of(plan, self.products[0], self.device)
        return self.known[plan]


@lru_cache(maxsize=256)
def offered(
    *products: Product,
    splits: tuple[int, ...],
    device: GpuDevice | None,
    warpgroups: bool,
    bands: bool = False,
) -> tuple[Sequence[Candidate], Clocks]:
    """All plans and their estimated clocks."""
    product, plans = products[0], list[Candidate]()
    known, are_known = device or DEFAULT, len(products) == 1
    clocks = Clocks(products, known)
    for tiles in _tiles(product, device, warpgroups=warpgroups, turns=are_known):
        orders = orders_of(tiles, product) if bands else [ordered(tiles, clocks)]
        for plan in orders:
            ways = (_in_parts(plan, parts) for parts in splits)
            plans += [way for way in ways if _may_split(way, product, known)]
    return tuple(dict.fromkeys(plans)), clocks


def _in_parts(plan: Candidate, splits: int) -> Candidate:
    return plan if plan.splits == splits else replace(plan, splits=splits)


def _may_split(plan: Candidate, product: Product, device: GpuDevice) -> bool:
    """Whether the parts of K are long enough for a plan that may split K."""
    is_long = plan.splits == 1 or product.terms >= 8 * plan.splits * plan.depth
    is_whole = not isinstance(plan, WarpgroupTiles)
    return is_long and (is_whole or may_split(plan, seen(plan, product), device))


def with_copies(
    plan: Candidate, product: Product, *, device: GpuDevice | None = None
) -> Candidate:
    """User-provided tiles with the cheapest copies, if the user chose none.

    Tiles that fit no block stay as they are, as do those of warpgroups.
    """
    if isinstance(plan, WarpgroupTiles):
        return plan
    ways = [plan] if any(plan.direct) else staged(plan, product)
    found = [fits for way in ways if (fits := fitted(way, product, device=device))]
    known = device or DEFAULT
    return min(found, key=lambda one: clocks_of(one, product, known), default=plan)


def device_for(architecture: str) -> GpuDevice | None:
    """The device whose data are used for an architecture; None for an unknown one.

    >>> [device_for(name).name for name in ("sm_90a", "sm_80")], device_for("")
    (['H100', 'A100'], None)
    """
    known = devices_of(architecture)
    return DEFAULT if DEFAULT in known else next(iter(known), None)


def planned_for(architecture: str) -> GpuDevice:
    """The device that kernels of an architecture are planned for; "" is any.

    >>> planned_for("sm_80").name, planned_for("").name
    ('A100', 'H100')
    """
    return device_for(architecture) or DEFAULT


def room_of(device: GpuDevice | None) -> int:
    """Bytes of shared memory per block: of a device, or of every supported one.

    >>> [room_of(known) // 1024 for known in (None, DEVICES["A100"])]
    [99, 163]
    """
    return device.multiprocessor.block_shared if device else portable_shared()


def fitted(
    plan: Candidate, product: Product, *, device: GpuDevice | None = None
) -> Candidate | None:
    """A plan with as many resident blocks as registers and shared memory allow.

    Operands that ``cp.async`` cannot copy go through registers.  K tiles are halved
    until the stages fit the shared memory of a block; None where none fit.
    """
    moved = seen(plan, product).direct
    left, right = (a and b for a, b in zip(plan.direct, moved, strict=True))
    stages = plan.stages if left and right else STAGES[0]
    plan = replace(plan, direct=(left, right), stages=stages)
    least, room = least_depth(plan, product), room_of(device)
    while plan.depth > least and counts_of(plan, product).shared > room:
        plan = replace(plan, depth=plan.depth // 2)
    counts = counts_of(plan, product)
    unit = (device or DEFAULT).multiprocessor
    held = occupancy(unit, plan.threads, counts.registers, counts.shared)
    if not held.blocks or counts.shared > room:
        return None
    enough = max(1, WARPS // (held.warps // held.blocks))
    return replace(plan, resident=min(held.blocks, enough))


def staged(plan: Candidate, product: Product) -> Iterator[Candidate]:
    """A plan with every way to copy the operands to shared memory.

    Kernels with warp fragments have no registers left for elements in flight.

    >>> product = Product(64, 64, 64, direct=(True, True))
    >>> [(way.direct, way.stages) for way in staged(CANDIDATES[0], product)][:3]
    [((False, False), 2), ((False, True), 2), ((True, True), 2)]
    """
    ways, product = [dict[str, Any]()], seen(plan, product)
    if isinstance(plan, WarpTiles) and all(product.direct):
        ways.clear()
    for direct in _direct_ways(plan, product):
        counts = STAGES if all(direct) else STAGES[:1]
        ways += [{"direct": direct, "stages": n} for n in counts]
    return (replace(plan, **way) for way in ways)


def _direct_ways(plan: Candidate, product: Product) -> list[tuple[bool, bool]]:
    """The operands that the hardware may copy: all that it can, or the wide ones."""
    ways = [product.direct]
    if not isinstance(plan, WarpTiles):
        left, right = (
            can and not turned
            for can, turned in zip(product.direct, product.turned, strict=True)
        )
        ways.insert(0, (left, right))
    return [way for way in dict.fromkeys(ways) if any(way)]


def ordered(plan: Candidate, clocks: Clocks) -> Candidate:
    """The plan with tiles in bands where the saved traffic pays for their arithmetic.

    Otherwise, and where the traffic is not known, blocks walk whole rows of tiles.

    >>> plan = replace(CANDIDATES[-2], resident=2)
    >>> product = Product(32768, 32768, 32768)
    >>> devices = DEVICES["H100"], DEVICES["RTX 4090"]
    >>> [ordered(plan, Clocks([product], device)).group for device in devices]
    [1, 16]
    """
    product, device = clocks.products[0], clocks.device
    heights = heights_of(plan, product)
    moved = [memory(plan, product, device, group=n) for n in heights]
    least_moved = heights[moved.index(min(moved))]
    plain, best = (replace(plan, group=n) for n in (heights[0], least_moved))
    if best == plain:
        return plain
    saved = 1 - clocks.of_first(best) / clocks.of_first(plain)
    return best if saved > BANDS else plain


def orders_of(plan: Candidate, product: Product) -> list[Candidate]:
    """The plan in whole rows of tiles, and in bands of all allowed heights.

    >>> [way.group for way in orders_of(CANDIDATES[-2], Product(4096, 4096, 4096))]
    [1, 2, 4, 8, 16]
    """
    return [replace(plan, group=n) for n in heights_of(plan, product)]


def heights_of(plan: Candidate, product: Product) -> Sequence[int]:
    """The allowed heights of bands in rows of tiles, the least first."""
    heights = GROUPS if product.plain else GROUPS[:1]
    if isinstance(plan, WarpgroupTiles):
        return band_heights(plan, seen(plan, product), heights)
    return heights


def _tiles(
    product: Product, device: GpuDevice | None, *, warpgroups: bool, turns: bool
) -> Iterator[Candidate]:
    """Plans of all kinds that fit the device, without split-K."""
    known = device or DEFAULT
    odd = (
        tiles
        for tiles in THREE_QUARTERS
        if wastes_less(tiles, product.rows, product.columns)
        and blocks_of_plan(tiles, product) >= known.processors
    )
    threads = (_in_even_tiles(tiles, product) for tiles in (*CANDIDATES, *odd))
    kinds = [*threads, *_warp_tiles(product, known)]
    for plan in (way for tiles in kinds for way in staged(tiles, product)):
        found = fitted(plan, product, device=device)
        if found:
            yield found
    if warpgroups and product.fragments is not None:
        yield from warpgroup_tiles(product.fragments, known, turns=turns)


def _in_even_tiles(plan: SharedTiles, product: Product) -> SharedTiles:
    """The plan with K tiles that walk the axes of K evenly, if they can."""
    if not product.term_axes:
        return plan
    return replace(plan, depth=even_depth(product.term_axes, plan.depth))


def _warp_tiles(product: Product, device: GpuDevice) -> Iterator[WarpTiles]:
    """Tiles for tensor cores, whose depth counts elements of the operands.

    None for f64 where tensor cores are not known to be faster.
    """
    if product.fragments is not None:
        size, kinds = product.fragments.element, FRAGMENTS
        if size == DOUBLE:
            kinds = DOUBLES if device.multiprocessor.double_tensor else ()
        yield from (replace(tiles, depth=tiles.depth * 2 // size) for tiles in kinds)


def seen(plan: Candidate, product: Product) -> Product:
    """The product with the element sizes that the kernel of a plan uses."""
    is_narrow = isinstance(plan, WarpTiles | WarpgroupTiles)
    return (product.fragments if is_narrow else None) or product


def counts_of(
    plan: Candidate, product: Product
) -> Counts | FragmentCounts | WarpgroupCounts:
    """The work and the resources of a plan."""
    match plan:
        case WarpTiles():
            return FragmentCounts(plan, seen(plan, product))
        case WarpgroupTiles():
            return WarpgroupCounts(plan, seen(plan, product))
        case _:
            return Counts(plan, product)


def least_depth(plan: Candidate, product: Product) -> int:
    """The smallest K tile that plans may have."""
    match plan:
        case WarpTiles():
            return terms_of(seen(plan, product).element)
        case WarpgroupTiles():
            return plan.depth
        case _:
            return 1


def clocks_of(plan: Candidate, product: Product, device: GpuDevice) -> float:
    """Clocks of the launches of a plan."""
    moved = memory(plan, seen(plan, product), device)
    counts = counts_of(plan, product)
    if isinstance(counts, WarpgroupCounts):
        work = counts.work(moved, counts.from_cache(device))
    else:
        work = counts.work(moved)
    longer = UNEVEN if isinstance(counts, FragmentCounts) and counts.is_uneven else 0
    contending = CONTENDING if contends(counts) else ()
    ring = 0.0 if isinstance(counts, Counts) else counts.starved(device)
    found = _at_least(ring, estimate(device, plan.resident, work))
    clocks = counts.idle(device) + busy(found, contending) * (1 + longer)
    if plan.splits > 1:
        clocks += _summed(product, plan.splits, device)
    return clocks


@lru_cache(maxsize=256)
def _summed(product: Product, splits: int, device: GpuDevice) -> float:
    """Clocks of the launch that adds the partial sums of split-K."""
    sums = partial_sums(product, splits)
    return busy(estimate(device, device.multiprocessor.blocks, sums))


def contends(counts: Counts | FragmentCounts | WarpgroupCounts) -> bool:
    """Whether a kernel uses units that contend with each other (`CONTENDING`)."""
    return isinstance(counts, FragmentCounts) and not counts.is_double


def _at_least(waiting: float, found: Estimate) -> Estimate:
    """The estimate with at least these clocks of latency."""
    latency = max(waiting, found.clocks.get(Unit.LATENCY, 0.0))
    return Estimate({**found.clocks, Unit.LATENCY: latency})


def busy(found: Estimate, contending: Sequence[Unit] = ()) -> float:
    """A soft maximum of the units' clocks: busy units slow each other down.

    ``contending``: units that contend more than others; they count as one.

    >>> work = Estimate({Unit.ISSUE: 90.0, Unit.FMA: 90.0})
    >>> round(busy(work)), round(busy(work, (Unit.ISSUE, Unit.FMA)))
    (98, 127)
    """
    alone = [clocks for unit, clocks in found.clocks.items() if unit not in contending]
    several = [found.clocks.get(unit, 0.0) for unit in contending]
    return soft_maximum([*alone, soft_maximum(several, BLUNTNESS)])


def soft_maximum(clocks: Sequence[float], sharpness: int = SHARPNESS) -> float:
    """A soft maximum; 0 for no clocks."""
    return sum(each**sharpness for each in clocks) ** (1 / sharpness)


PACKED = 4
"""Words that a thread packs at once, where their bytes lie side by side."""
THREADS = 256
"""Threads of a block that packs."""
PACKING = 4 * WORD // BYTE
"""Instructions per word whose bytes are not contiguous: read, mask, shift, join each.
"""


def four_bytes(left: Part, right: Part, _: int) -> PackedDots | None:
    """The packing of operands in words of four bytes; None for other integers.

    >>> four_bytes(Part(8), Part(8, signed=False), 64).right
    Part(bits=8, signed=False)
    >>> four_bytes(Part(16), Part(8), 64) is None
    True
    """
    is_of_bytes = left.bits == right.bits == BYTE
    return PackedDots(left, right) if is_of_bytes else None


def words_pay(
    plain: Sequence[Product],
    words: Sequence[Product],
    device: GpuDevice | None = None,
) -> bool:
    """Whether packed words, packing included, take fewer estimated clocks.

    ``device``: as for `plan_contraction`.

    >>> def pays(size, terms):
    ...     plain, words = (
    ...         Product(size, size, n, integer=True) for n in (terms, terms // 4)
    ...     )
    ...     return words_pay([plain], [words])
    >>> pays(32, 32), pays(2048, 2048)
    (False, True)
    """
    known = device or DEFAULT

    def clocks(product: Product) -> float:
        return clocks_of(plan_contraction(product, device=device), product, known)

    packing = sum(_packing(each, known) for each in words)
    return sum(map(clocks, words)) + packing < sum(map(clocks, plain))


def copies_pay(
    plain: Sequence[Product],
    copied: Sequence[Product],
    size: int,
    *,
    device: GpuDevice | None = None,
    choose: Choose = least,
    warpgroups: bool = False,
) -> bool:
    """Whether kernels on copies of factors take fewer clocks, copies included.

    ``plain``: the product of the factors themselves.  ``size``: bytes of the copies.

    >>> def pays(size):
    ...     bytes_ = Product(size, size, size, element=1, widths=(16, 16))
    ...     ways = (
    ...         replace(bytes_, turned=(True, along), direct=(True, along))
    ...         for along in (False, True)
    ...     )
    ...     plain, copied = (
    ...         Product(size, size, size, integer=True, fragments=way) for way in ways
    ...     )
    ...     return copies_pay([plain], [copied], size**2)
    >>> pays(256), pays(4096)
    (False, True)
    """
    known = device or DEFAULT

    def clocks(products: Sequence[Product]) -> float:
        plan = plan_contraction(
            *products, device=device, choose=choose, warpgroups=warpgroups
        )
        return geometric_mean([clocks_of(plan, product, known) for product in products])

    words = _packed(size * BYTE // WORD)
    copies = busy(estimate(known, known.multiprocessor.blocks, words))
    return clocks(copied) + copies < clocks(plain)


def _packing(product: Product, device: GpuDevice) -> float:
    """Clocks of the launches that pack both operands."""
    sizes = (product.rows, product.columns)
    works = (_packed(product.batch * size * product.terms) for size in sizes)
    held = device.multiprocessor.blocks
    return sum(busy(estimate(device, held, work)) for work in works)


def _packed(words: int) -> Work:
    warps, memory = ceil(words / WARP), 2 * words * WORD // BYTE
    sectors = memory / SECTOR
    return Work(
        ceil(words / THREADS),
        THREADS,
        warps * PACKING,
        sectors=sectors,
        block_sectors=sectors,
        memory=memory,
        waits=1,
    )
