"""Schedules: text, effect, refusals, and the repetition of a compiler's choice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import schedule as s
from tests.schedule.programs import CHAIN, LINALG, PRODUCT, SKEWED, STENCIL, Sample

EXAMPLES = Path(__file__).parents[2] / "examples"


def is_right(sample: Sample, made: gcg.Program) -> bool:
    arrays = sample.arguments(7)
    made.f(*arrays)
    return all(map(np.array_equal, sample.answer(7), arrays))


def scheduled(sample: Sample, target: str, *steps: s.Step) -> gcg.Program:
    return gcg.compile(sample.text, target=target, schedule=s.schedule(*steps))


def repeats(text: str | Path, target: str, arch: str, name: str) -> bool:
    """Whether the printed schedule of a function makes the same source.

    That the kernels are free of races is proven once, but for those with asynchronous
    copies, whose form depends on the proof.
    """
    options = {"target": target, "arch": arch}
    made = gcg.compile(text, **options)
    given = {name: s.parse(str(made.schedule(name)))}
    source = text.read_text("utf-8") if isinstance(text, Path) else text
    proven = "dma_start" in source
    again = gcg.compile(text, **options, schedule=given, verify=proven)
    return again.source(name) == made.source(name)


# -- text ------------------------------------------------------------------------------


def test_a_printed_schedule_is_read_again() -> None:
    made = s.schedule(
        s.tile("i", sizes=[8, "n"], names=["io", "jo"], relaxed=True),
        s.stage("A", "B", transfers="dma"),
        s.bind("0.1", "block.x"),
        s.improve_locality(order0=(1, 0), fusion1=False),
        s.time_tile(0, steps=4, width=[256]),
        s.map_kernel("f_k0", "product", tile_rows=64, direct=(True, False)),
    )
    assert s.parse(str(made)) == made
    assert s.parse(f" {made}\n") == made


def test_schedules_of_several_functions_in_one_text() -> None:
    found = s.parse_all("f = schedule(vectorize())\ng = schedule()\n")
    assert {name: len(steps) for name, steps in found.items()} == {"f": 1, "g": 0}


@pytest.mark.parametrize(
    "text",
    [
        "schedule(",
        "print('x')",
        "schedule(tile('i', sizes=[n]))",
        "schedule(tile('i', sizes=__import__('os').getpid()))",
        "schedule(tile(1, sizes=[2]))",
        "schedule('tile')",
        "schedule(tile('i', sizes=[8], sizs=[9]))",
        "schedule(tyle('i', sizes=[8]))",
        "schedule(bind('i', 'blok.x'))",
        "schedule(unroll('i', 'j'))",
        "schedule(vectorize(width=8))",
        "schedule(**{})",
        "schedule(map_kernel('f_k0', 'product', tile_rows='64'))",
        "schedule(improve_locality(order0='ji'))",
        "schedule(time_tile('time0', steps=()))",
    ],
)
def test_a_text_that_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(gcg.Error) as refused:
        s.parse(text)
    assert refused.value.code == "C017"


def test_words_of_other_compilers_are_understood() -> None:
    for word, step in {"split": "tile", "reorder": "interchange"}.items():
        with pytest.raises(gcg.Error, match=f"'{step}'"):
            s.parse(f"schedule({word}('i'))")


# -- what steps do ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_steps_in_the_order_in_which_they_stand(target: str) -> None:
    steps = s.tile("i", sizes=[8, 8]), s.interchange("i", order=["j", "i", "k"])
    more = s.unroll("k", factor=2), s.peel("j_tile", front=1)
    assert is_right(PRODUCT, scheduled(PRODUCT, target, *steps, *more))


def test_a_product_bound_to_blocks_and_threads() -> None:
    tiles = s.tile("i", sizes=[16, 16, 8])
    order = s.interchange("k_tile", order=["k_tile", "i", "j", "k"])
    places = {"i_tile": "block.y", "j_tile": "block.x", "i": "thread.y"}
    bound = [s.bind(loop, to) for loop, to in places.items()]
    inner = [s.bind("j", "thread.x")]
    made = scheduled(PRODUCT, "sim", tiles, order, *bound, *inner)
    assert is_right(PRODUCT, made)
    assert "(2, 3, 1), (16, 16, 1)" in made.source("f")


@pytest.mark.slow
def test_staged_copies_under_way_in_a_block_program() -> None:
    steps = (
        s.tile("d0", sizes=[32, 16, 16]),
        s.stage("A", "B", transfers="dma"),
        s.pipeline("d2_tile", stages=3),
        s.bind("d0_tile", "block.y"),
        s.bind("d1_tile", "block.x"),
    )
    assert is_right(LINALG, scheduled(LINALG, "sim", *steps))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("i", "j", "grid"), [("y", "x", "(4, 3, 1)"), ("x", "y", "(3, 4, 1)")]
)
def test_blocks_lie_along_the_stated_axes(i: str, j: str, grid: str) -> None:
    staged = s.tile("i", sizes=[16, 8, 8]), s.stage("A", "B")
    bound = s.bind("i_tile", f"block.{i}"), s.bind("j_tile", f"block.{j}")
    made = scheduled(PRODUCT, "sim", *staged, *bound)
    assert grid in made.source("f")
    assert is_right(PRODUCT, made)


def test_a_loop_around_bound_loops_stays_on_the_host() -> None:
    text = """
func.func @f(%A: memref<6x32xf32>) {
  affine.for %t = 1 to 6 {
    affine.for %i = 0 to 32 {
      %x = affine.load %A[%t - 1, 31 - %i] : memref<6x32xf32>
      affine.store %x, %A[%t, %i] : memref<6x32xf32>
    }
  }
  return
}"""
    sample = Sample(text, ((6, 32),), ("t", "i"))
    assert is_right(sample, scheduled(sample, "sim", s.bind("i", "thread.x")))


def test_parts_of_a_block_that_depend_on_each_other_meet_at_a_barrier() -> None:
    text = """
func.func @f(%A: memref<8x64xf32>, %B: memref<8x64xf32>) {
  affine.for %b = 0 to 8 {
    %s = memref.alloc() : memref<64xf32, 2>
    affine.for %i = 0 to 64 {
      %x = affine.load %A[%b, %i] : memref<8x64xf32>
      affine.store %x, %s[%i] : memref<64xf32, 2>
    }
    affine.for %j = 0 to 64 {
      %y = affine.load %s[63 - %j] : memref<64xf32, 2>
      affine.store %y, %B[%b, %j] : memref<8x64xf32>
    }
    memref.dealloc %s : memref<64xf32, 2>
  }
  return
}"""
    sample = Sample(text, ((8, 64), (8, 64)), ("b", "i", "j"))
    bound = {"b": "block.x", "i": "thread.x", "j": "thread.x"}
    steps = [s.bind(loop, to) for loop, to in bound.items()]
    made = scheduled(sample, "sim", *steps)
    assert is_right(sample, made)
    assert made.source("f").count("syncthreads") == 1


@pytest.mark.slow
def test_a_changed_plan_makes_another_kernel() -> None:
    first = gcg.compile(LINALG.text, target="sim")
    (step,) = first.schedule("f")
    changed = s.map_kernel(*step.of, tile_rows=64, tile_columns=64)
    other = scheduled(LINALG, "sim", changed)
    (chosen,) = other.schedule("f")
    assert (chosen.values["tile_rows"], chosen.values["tile_columns"]) == (64, 64)
    assert other.source("f") != first.source("f")


@pytest.mark.slow
def test_a_changed_plan_computes_the_same() -> None:
    changed = s.map_kernel("f_k0", "product", tile_rows=64, tile_columns=64)
    assert is_right(LINALG, scheduled(LINALG, "sim", changed))


def test_loops_run_on_cpu_threads_where_the_schedule_says_so() -> None:
    options = {"target": "cpu", "threads": 2}
    bound = s.schedule(s.bind("i", "cpu.thread"), s.vectorize())
    with_threads = gcg.compile(STENCIL.text, schedule=bound, **options)
    without = gcg.compile(STENCIL.text, schedule=s.schedule(s.vectorize()), **options)
    assert with_threads.schedule("f") == bound
    assert "affine.parallel" in dict(with_threads.stages("f"))["map-cpu"]
    assert "affine.parallel" not in dict(without.stages("f"))["map-cpu"]


@pytest.mark.slow
def test_schedules_of_python_functions_and_ready_made_operations() -> None:
    @gcg.jit(target="sim")
    def twice(a, b):  # noqa: ANN001
        for i in range(a.shape[0]):
            b[i] = a[i] * 2.0

    a, b = np.arange(64.0), np.zeros(64)
    twice(a, b)
    (step,) = twice.schedule(a, b)
    assert step.of == ("twice_k0", "stream")
    x = np.ones((32, 32), np.float32)
    given = 'schedule(map_kernel("matmul_k0", "product", tile_rows=32))'
    found = gcg.kernels.matmul(x, x, target="sim", schedule=given)
    assert np.array_equal(found, x @ x)


# -- what is refused -------------------------------------------------------------------

WITNESS = "reads|writes"
WRONG: dict[str, tuple[Sample, str, tuple[s.Step, ...], str]] = {
    "an interchange against a dependence": (
        SKEWED,
        "cpu",
        (s.interchange("i", order=["j", "i"]),),
        WITNESS,
    ),
    "a tile against a dependence": (
        SKEWED,
        "cpu",
        (s.tile("i", sizes=[4, 4]),),
        WITNESS,
    ),
    "threads along a sum": (PRODUCT, "sim", (s.bind("k", "thread.x"),), WITNESS),
    "blocks along a recurrence": (SKEWED, "sim", (s.bind("i", "block.x"),), WITNESS),
    "CPU threads along a sum": (PRODUCT, "cpu", (s.bind("k", "cpu.thread"),), WITNESS),
    "a fusion that reads what comes later": (
        CHAIN,
        "cpu",
        (s.fuse("i", "p", depth=2),),
        WITNESS,
    ),
    "an unroll-and-jam against a dependence": (
        SKEWED,
        "sim",
        (s.unroll_and_jam("i", factor=2),),
        WITNESS,
    ),
    "a skew that is too small": (SKEWED, "cpu", (s.skew(factors=[1]),), "backward"),
    "two loops for one axis": (
        PRODUCT,
        "sim",
        (s.bind("i", "thread.x"), s.bind("j", "thread.x")),
        "same place",
    ),
    "a block loop inside another loop": (
        PRODUCT,
        "sim",
        (s.bind("i", "thread.y"), s.bind("j", "block.x")),
        "outermost",
    ),
    "more threads than a block has": (
        PRODUCT,
        "sim",
        (s.bind("i", "thread.y"), s.bind("j", "thread.x")),
        "exceeds the limit of 1024",
    ),
    "a loop that is not there": (PRODUCT, "cpu", (s.unroll("z"),), "Known loops"),
    "an order of other loops": (
        PRODUCT,
        "cpu",
        (s.interchange("i", order=["j", "q"]),),
        "does not name each of the perfectly nested loops",
    ),
    "a place that a CPU does not have": (
        PRODUCT,
        "cpu",
        (s.bind("i", "block.x"),),
        "cpu.thread",
    ),
    "a step of another target": (PRODUCT, "sim", (s.vectorize(),), "The target has"),
    "a step too late": (PRODUCT, "cpu", (s.vectorize(), s.unroll("i")), "comes before"),
    "steps in another order": (
        PRODUCT,
        "cpu",
        (s.improve_locality(), s.privatize()),
        "order",
    ),
    "a plan that no kernel has": (
        LINALG,
        "cuda",
        (s.map_kernel("f_k0", "product", tile_rows=7),),
        "tile_rows",
    ),
    "a kernel that is not there": (
        LINALG,
        "cuda",
        (s.map_kernel("f_k7", "product", tile_rows=32),),
        "f_k7",
    ),
    "a product that is not there": (
        LINALG,
        "cpu",
        (s.map_kernel("product4", "register_tile", rows=4),),
        "product4",
    ),
    "an array that does not fit": (
        PRODUCT,
        "sim",
        (s.tile("i", sizes=[16, 16]), s.stage("A", capacity=64)),
        "exceeds",
    ),
    "a pipeline with fewer buffers than stages": (
        LINALG,
        "sim",
        (
            s.tile("d0", sizes=[32, 16, 16]),
            s.stage("A", "B", transfers="dma"),
            s.pipeline("d2_tile", stages=3, buffers=1),
        ),
        "both write A_fast",
    ),
    "copies of single threads": (
        LINALG,
        "sim",
        (
            s.tile("d0", sizes=[32, 16, 16]),
            s.stage("A", "B", transfers="dma"),
            s.bind("d0_tile", "block.y"),
            s.bind("d0", "thread.x"),
        ),
        "shares out its copies",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_schedule_is_refused(case: str) -> None:
    sample, target, steps, expected = WRONG[case]
    made = gcg.compile(sample.text, target=target, schedule=s.schedule(*steps))
    with pytest.raises(gcg.Error, match=expected):
        made.source("f")


def test_schedules_take_the_place_of_sizes() -> None:
    with pytest.raises(gcg.Error, match="Leave out tile_sizes"):
        gcg.compile(PRODUCT.text, schedule=s.schedule(), tile_sizes=(8, 8))
    with pytest.raises(gcg.Error, match="'g'"):
        gcg.compile(PRODUCT.text, schedule={"g": s.schedule()})


# -- what is chosen is what is printed -------------------------------------------------


@pytest.mark.parametrize(
    ("file", "target", "arch"),
    [
        ("matmul", "cpu", ""),
        ("row_reduction", "cpu", ""),
        ("row_reduction", "cuda", "sm_80"),
    ],
)
def test_a_printed_schedule_makes_the_same_kernels(
    file: str, target: str, arch: str
) -> None:
    path = EXAMPLES / f"{file}.mlir"
    for name in gcg.compile(path).names:
        assert repeats(path, target, arch, name)


ALL = sorted((*EXAMPLES.glob("*.mlir"), *(EXAMPLES / "polybench").glob("*.mlir")))
ARCHITECTURES = ("sm_80", "sm_90a")


@pytest.mark.slow
@pytest.mark.drawn(30)
@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_the_schedules_of_all_examples_repeat(path: Path, target: str) -> None:
    """The architectures of a GPU take turns."""
    arch = ARCHITECTURES[ALL.index(path) % 2] if target == "cuda" else ""
    for name in gcg.compile(path).names:
        assert repeats(path, target, arch, name)
