from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.calls import plan
from gpucodegen.calls.launch import no_fast_path
from gpucodegen.calls.plan import address
from gpucodegen.calls.signature import Signature
from gpucodegen.emit import emit_program
from gpucodegen.emit.emissions import CPU
from gpucodegen.emit.host_calls import OneLaunch
from gpucodegen.parser import parse_module

TEXT = """
func.func @axpy(%x: memref<?xf32>, %y: memref<?xf32>, %a: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = affine.load %y[%i] : memref<?xf32>
    %av = arith.mulf %a, %v : f32
    %s = arith.addf %w, %av : f32
    affine.store %s, %y[%i] : memref<?xf32>
  }
  return
}
func.func @subtract(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to %n {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = affine.load %y[%i] : memref<?xf32>
    %d = arith.subf %w, %v : f32
    affine.store %d, %y[%i] : memref<?xf32>
  }
  return
}
func.func @plus(%x: memref<?xf32>, %y: memref<?xf32>)
    -> (memref<8xf32>, memref<8xf32>) {
  %sum = memref.alloc() : memref<8xf32>
  %difference = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %v = affine.load %x[%i] : memref<?xf32>
    %w = affine.load %y[%i] : memref<?xf32>
    %s = arith.addf %v, %w : f32
    %d = arith.subf %v, %w : f32
    affine.store %s, %sum[%i] : memref<8xf32>
    affine.store %d, %difference[%i] : memref<8xf32>
  }
  return %sum, %difference : memref<8xf32>, memref<8xf32>
}
func.func @half(%x: memref<8xf32>, %y: memref<8xf32>, %a: f32) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %zero, %x[%i] : memref<8xf32>
  }
  return
}
func.func @same(%x: memref<4xi32>, %n: i8) -> (memref<4xi32>, i8) {
  return %x, %n : memref<4xi32>, i8
}
"""


@pytest.fixture
def program() -> gcg.Program:
    return gcg.compile(TEXT, target="cpu")


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each call that was checked in full."""
    calls: list[int] = []
    convert = Signature.convert

    def counted(self: Signature, arguments: Any) -> Any:
        calls.append(len(arguments))
        return convert(self, arguments)

    monkeypatch.setattr(Signature, "convert", counted)
    return calls


def arrays(n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n, dtype=np.float32), np.ones(n, np.float32)


def test_calls_of_one_form_are_checked_once(
    program: gcg.Program, converted: list[int]
) -> None:
    program.axpy(*arrays(), 2.0)
    full = len(converted)
    for a in (1.0, 3.0):
        x, y = arrays()
        program.axpy(x, y, a)
        np.testing.assert_array_equal(y, 1 + np.float32(a) * x)
    assert len(converted) == full


def test_another_extent_or_stride_is_another_form(program: gcg.Program) -> None:
    program.axpy(*arrays(8), 2.0)
    x, y = arrays(5)
    program.axpy(x, y, 2.0)
    np.testing.assert_array_equal(y, 1 + 2 * x)
    before, every_other = y.copy(), np.arange(10, dtype=np.float32)[::2]
    for times in (1, 2, 3):
        program.axpy(every_other, y, 2.0)
        np.testing.assert_array_equal(y, before + times * 2 * every_other)
    with pytest.raises(errors.OutOfBounds):
        program.axpy(np.zeros(16, np.float32)[::2], y, 2.0)
    with pytest.raises(errors.WrongDtype):
        program.axpy(x.astype(np.float64), y, 2.0)


def test_overlap_is_refused_every_time(program: gcg.Program) -> None:
    x, y = arrays()
    program.axpy(x, y, 1.0)
    both = np.zeros(12, np.float32)
    for _ in range(2):
        with pytest.raises(errors.OverlappingArguments):
            program.axpy(both[:8], both[4:], 1.0)
    program.axpy(both[:6], both[6:], 1.0)


def test_overlap_that_is_trusted_stays_trusted() -> None:
    program = gcg.compile(TEXT, target="cpu", alias="trust")
    x = np.ones(8, np.float32)
    for _ in range(2):
        program.axpy(x, x, 1.0)
    np.testing.assert_array_equal(x, 4)


def test_a_read_only_array_is_another_form(program: gcg.Program) -> None:
    x, y = arrays()
    program.axpy(x, y, 1.0)
    x.flags.writeable = False
    program.axpy(x, y, 1.0)
    program.axpy(x, y, 1.0)
    np.testing.assert_array_equal(y, 1 + 3 * x)
    y.flags.writeable = False
    with pytest.raises(errors.ReadOnlyArgument):
        program.axpy(x, y, 1.0)


def test_calls_of_one_launch_make_no_buffers(
    program: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = arrays()
    program.subtract(x, y)
    monkeypatch.setattr(plan, "Buffer", None)
    program.subtract(x, y)
    np.testing.assert_array_equal(y, 1 - 2 * x)


def test_new_results_of_one_launch_make_no_buffers(
    program: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = arrays()
    calls = [lambda: program.plus(x, y), program.plus.bind(x, y)]
    held = [program.plus(x, y)]
    monkeypatch.setattr(plan, "Buffer", None)
    for call in calls * 3:
        held.append(call())
        x += 1
    for n, (total, difference) in enumerate(held):
        before = np.arange(8, dtype=np.float32) + max(n - 1, 0)
        np.testing.assert_array_equal(total, before + y)
        np.testing.assert_array_equal(difference, before - y)


@pytest.fixture
def direct(program: gcg.Program) -> gcg.Program:
    """The same after calls that were repeated, so that machine code checks the next."""
    x, y = arrays()
    for _ in range(3):
        program.subtract(x, y)
    assert no_fast_path is not program["subtract"]._entry
    return program


def test_calls_that_machine_code_checks(
    direct: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpucodegen.calls.function.form_of", None)
    x, y = arrays()
    direct.subtract(x, y)
    np.testing.assert_array_equal(y, 1 - x)


def test_a_variable_turns_machine_code_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCODEGEN_DIRECT", "0")
    program = gcg.compile(TEXT, target="cpu")
    x, y = arrays()
    for times in (1, 2, 3):
        program.subtract(x, y)
        np.testing.assert_array_equal(y, 1 - times * x)
        assert program["subtract"]._entry is no_fast_path
    assert program["subtract"].again(x, y) is no_fast_path


def test_machine_code_sees_what_differs(direct: gcg.Program) -> None:
    x, y = arrays(5)
    direct.subtract(x, y)
    np.testing.assert_array_equal(y, 1 - x)
    both = np.zeros(12, np.float32)
    with pytest.raises(errors.OverlappingArguments):
        direct.subtract(both[:8], both[4:])
    with pytest.raises(errors.WrongDtype):
        direct.subtract(*(a.astype(np.float64) for a in arrays()))
    with pytest.raises(errors.ReadOnlyArgument):
        direct.subtract(np.ones(8, "f4"), np.broadcast_to(np.ones(8, "f4"), (8,)))
    with pytest.raises(errors.WrongArgumentCount):
        direct.subtract(*arrays(), 1)


def test_machine_code_leaves_other_targets_alone(
    direct: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCODEGEN_TARGET", "sim")
    direct.subtract(*arrays())
    assert direct["subtract"].executable().target == "sim"
    monkeypatch.delenv("GPUCODEGEN_TARGET")
    direct.subtract(*arrays())
    assert direct["subtract"].executable().target == "cpu"


def test_arguments_that_no_kernel_takes(program: gcg.Program) -> None:
    for x, y in (arrays(), arrays(), arrays()):
        program.half(x, y, 1.0)
        assert not x.any()
        assert y.all()
        x.fill(1)
        program.half.bind(x, y, 1.0)()
        assert not x.any()


def test_forms_by_turns(program: gcg.Program) -> None:
    for n in (8, 5, 5, 5, 8, 8, 8, 5):
        x, y = arrays(n)
        program.subtract(x, y)
        np.testing.assert_array_equal(y, 1 - x)


TEMPLATE = """
func.func private @k(%x: memref<2xf32>, %y: memref<2xf32>)
    attributes {gcg.kernel = "cpu"} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<2xf32>
  memref.store %v, %y[%c0] : memref<2xf32>
  return
}
func.func private @scaled(%x: memref<2xf32>, %n: bf16)
    attributes {gcg.kernel = "cpu"} {
  return
}
func.func @f(%a: memref<2xf32>, %b: memref<2xf32>NUMBER) RESULTS {
  %c0 = arith.constant 0 : index
  BODY
}
"""
BUFFER, BUFFERS = "memref<2xf32>", "memref<2xf32>, memref<2xf32>"
MADE = f"%m = memref.alloc() : {BUFFER}\n  "
TWO = f"{MADE}%o = memref.alloc() : {BUFFER}\n  "


def started(one: str = "%a", other: str = "%b") -> str:
    return f"call @k({one}, {other}) : ({BUFFERS}) -> ()\n  "


def launch_of(body: str) -> OneLaunch | None:
    """What is stated of a function with this body."""
    values = body.rpartition("return")[2].partition(":")[2]
    number = next((n for n in (", %n: bf16", ", %i: index") if n[2:4] in body), "")
    text = TEMPLATE.replace("BODY", body).replace("NUMBER", number)
    text = text.replace("RESULTS", f"-> ({values})" if values else "")
    return emit_program(parse_module(text, "t.mlir"), CPU).functions["f"].launch


ALIGNED = f"""%m = memref.alloc() : {BUFFER}
  memref.assume_alignment %m, 64 : {BUFFER}
  """
SINGLE: dict[str, tuple[str, tuple[object, ...]]] = {
    "of arguments": (started("%b", "%a") + "return", ((1, 0), (), False)),
    "with a result": (
        f"{MADE}{started('%a', '%m')}return %m : {BUFFER}",
        ((0, 2), (((2,), "f32"),), True),
    ),
    "with a view of a result": (
        f"{ALIGNED}{started('%a', '%m')}return %m : {BUFFER}",
        ((0, 2), (((2,), "f32"),), True),
    ),
    "on results alone": (
        f"{TWO}{started('%o', '%m')}return %m, %o : {BUFFERS}",
        ((3, 2), (((2,), "f32"), ((2,), "f32")), False),
    ),
    "results in another order": (
        f"{TWO}{started('%o', '%m')}return %o, %m : {BUFFERS}",
        ((2, 3), (((2,), "f32"), ((2,), "f32")), False),
    ),
}
OTHERS = {
    "a constant": (
        "%1 = arith.constant 1.0 : bf16\n  "
        f"call @scaled(%a, %1) : ({BUFFER}, bf16) -> ()\n  return"
    ),
    "a number that the host rounds": (
        f"call @scaled(%a, %n) : ({BUFFER}, bf16) -> ()\n  return"
    ),
    "a result that is an argument": started() + f"return %a : {BUFFER}",
    "two": started() + started() + "return",
    "one in a loop": f"affine.for %j = 0 to 2 {{ {started()} }}\n  return",
    "one on a condition": (
        "%is = arith.cmpi eq, %i, %c0 : index\n  "
        f"scf.if %is {{ {started()} }}\n  return"
    ),
    "memory of its own": f"{MADE}{started('%a', '%m')}return",
    "memory that it gives back": (
        f"{MADE}{started('%a', '%m')}memref.dealloc %m : {BUFFER}\n  return"
    ),
    "a store": (
        f"%1 = arith.constant 1.0 : f32\n  {started()}"
        f"memref.store %1, %a[%c0] : {BUFFER}\n  return"
    ),
    "none": "return",
}


@pytest.mark.cases(("body", "stated"), SINGLE.values(), ids=SINGLE)
def test_one_launch_is_stated(body: str, stated: tuple[object, ...]) -> None:
    launch = launch_of(body)
    assert launch is not None
    assert (launch.kernel, launch.order, launch.results, launch.single) == (
        "k",
        *stated,
    )


@pytest.mark.cases("body", OTHERS.values(), ids=OTHERS)
def test_other_calls_are_no_single_launch(body: str) -> None:
    assert launch_of(body) is None


NUMBERS = """
func.func @f(%x: memref<9x{ty}>) -> ({ty}, memref<9x{ty}>, {ty}) {{
  %zero = arith.constant {zero} : {ty}
  %y = memref.alloc() : memref<9x{ty}>
  %both:2 = affine.for %i = 0 to 9
      iter_args(%s = %zero, %m = %zero) -> ({ty}, {ty}) {{
    %v = affine.load %x[%i] : memref<9x{ty}>
    %w = arith.add{kind} %v, %v : {ty}
    affine.store %w, %y[%i] : memref<9x{ty}>
    %t = arith.add{kind} %s, %v : {ty}
    %u = arith.{most} %m, %v : {ty}
    affine.yield %t, %u : {ty}, {ty}
  }}
  return %both#0, %y, %both#1 : {ty}, memref<9x{ty}>, {ty}
}}"""


@pytest.mark.cases("ty", ["f32", "f64", "i32", "i64", "i8"])
def test_numbers_of_a_single_launch(ty: str) -> None:
    """They come as Python's numbers, as from the host program."""
    whole, bits = ty[0] == "i", int(ty[1:])
    zero, kind, most = ("0", "i", "maxsi") if whole else ("0.0", "f", "maximumf")
    function = gcg.compile(
        NUMBERS.format(ty=ty, zero=zero, kind=kind, most=most), target="cpu"
    ).f
    x = np.arange(9).astype(f"{ty[0]}{bits // 8}")
    for scale in (1, 2, 3):
        total, doubled, largest = function(x * x.dtype.type(scale))
        assert (total, largest) == (36 * scale, 8 * scale)
        assert type(total) is type(largest) is (int if whole else float)
        assert doubled.tolist() == [2 * scale * n for n in range(9)]
    launch = function.executable().artifact.launch
    assert (launch is not None and launch.numbers == (0, 2)) == (ty != "i8")


def test_numbers_are_checked_every_time(program: gcg.Program) -> None:
    x = np.arange(4, dtype=np.int32)
    for _ in range(2):
        given, number = program.same(x, 255)
        assert given is x
        assert number == -1
    with pytest.raises(errors.WrongArgumentType, match="i8"):
        program.same(x, 256)
    with pytest.raises(errors.WrongArgumentType):
        program.same(x, "a")


@pytest.mark.cases("number", [0.1, 16777217.0, 1e-46, 1e39, -1e39, float("nan")])
def test_numbers_are_rounded_as_arrays_are(program: gcg.Program, number: float) -> None:
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    program.axpy(x, y, number)
    with np.errstate(all="ignore"):
        rounded = np.full(8, number).astype(np.float32)
    np.testing.assert_array_equal(y, rounded)


@pytest.mark.slow
@pytest.mark.cases("sign", ["", "s", "u"], parts=2)
@pytest.mark.cases("bits", [8, 16, 32, 64])
def test_integers_of_any_width_arrive(sign: str, bits: int) -> None:
    ty, dtype = f"{sign}i{bits}", np.dtype(f"{sign.strip('s')}int{bits}")
    program = gcg.compile(FILLED.replace("TYPE", ty), target="cpu")
    x, ends = np.zeros(4, dtype), np.iinfo(dtype)
    for n in (int(ends.min), 0, 1, int(ends.max), int(ends.max)):
        program.f(x, n)
        assert (x == n).all()
        program.f.bind(x, n)()
        assert (x == n).all()


FILLED = """
func.func @f(%x: memref<4xTYPE>, %n: TYPE) {
  affine.for %i = 0 to 4 {
    affine.store %n, %x[%i] : memref<4xTYPE>
  }
  return
}
"""


def test_the_last_specialisation_is_that_of_the_last_call(
    program: gcg.Program,
) -> None:
    program.axpy(*arrays(8), 2.0)
    first = program["axpy"].executable()
    program.axpy(*arrays(5), 2.0)
    program.axpy(*arrays(8), 2.0)
    assert program["axpy"].executable() is first


def test_the_target_of_the_environment_counts(
    program: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.axpy(*arrays(), 2.0)
    monkeypatch.setenv("GPUCODEGEN_TARGET", "sim")
    program.axpy(*arrays(), 2.0)
    assert program["axpy"].executable().target == "sim"


@pytest.mark.slow
def test_forms_are_bounded(
    program: gcg.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpucodegen.calls.function.MAX_FORMS", 2)
    for n in range(1, 6):
        x, y = arrays(n)
        program.axpy(x, y, 2.0)
        np.testing.assert_array_equal(y, 1 + 2 * x)
    assert len(program["axpy"]._plans) <= 2


@pytest.mark.cases(
    "array",
    [np.zeros((3, 4)), np.zeros((3, 4)).T, np.zeros(0), np.zeros(8)[::-2]],
    ids=["plain", "transposed", "empty", "backwards"],
)
def test_addresses(array: np.ndarray) -> None:
    assert address(array) == array.ctypes.data
    array.flags.writeable = False
    assert address(array) == array.ctypes.data


MEAN = """
func.func @f(%x: memref<4xf64>, %n: f64) -> ({results}) {{
  %zero = arith.constant 0.0 : f64
  %sum = affine.for %i = 0 to 4 iter_args(%s = %zero) -> (f64) {{
    %v = affine.load %x[%i] : memref<4xf64>
    %t = arith.addf %s, %v : f64
    affine.yield %t : f64
  }}
  %mean = arith.divf %sum, %n : f64
  %root = math.sqrt %mean : f64
  return {returned} : {results}
}}"""


@pytest.mark.parametrize(
    ("returned", "is_one"), [("%root", True), ("%root, %sum", False)]
)
def test_a_kernel_finishes_its_numbers(returned: str, is_one: bool) -> None:
    """It does not where the host needs the operands as well."""
    results = ", ".join("f64" for _ in returned.split())
    text = MEAN.format(returned=returned, results=results)
    function = gcg.compile(text, target="cpu").f
    x = np.array([1.0, 2.0, 6.0, 7.0])
    for _ in range(3):
        found = function(x, 4.0)
        assert found == (2.0 if is_one else (2.0, 16.0))
    assert (function.executable().artifact.launch is not None) == is_one
