"""What users can pass by mistake: a catalogued error each, and none of Python's own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors, kernels
from gpucodegen.runtime.devices import choice
from gpucodegen.runtime.devices.inventory import missing_for_cuda

TEXT = """func.func @f(%x: memref<4xf32>, %n: index, %a: f32, %b: i1) -> index {
  return %n : index
}
func.func @c(%a: complex<f32>, %b: bf16) {
  return
}
func.func @h(%x: memref<4xbf16>) {
  return
}
func.func private @outside()"""

DOWN = """func.func @down(%n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = arith.cmpi eq, %n, %zero : i32
  %r = scf.if %end -> i32 {
    scf.yield %n : i32
  } else {
    %m = arith.subi %n, %one : i32
    %s = func.call @down(%m) : (i32) -> i32
    scf.yield %s : i32
  }
  return %r : i32
}"""

MUCH = "100000000000000xf32"
SPLATS = {
    "tensor": f"""func.func @much() -> tensor<{MUCH}> {{
      %c = arith.constant dense<1.0> : tensor<{MUCH}>
      return %c : tensor<{MUCH}>
    }}""",
    "global": f"""memref.global constant @k : memref<{MUCH}> = dense<1.0>
    func.func @much() -> f32 {{
      %i = arith.constant 3 : index
      %c = memref.get_global @k : memref<{MUCH}>
      %v = memref.load %c[%i] : memref<{MUCH}>
      return %v : f32
    }}""",
}


def program(text: str = TEXT, **options: Any) -> gcg.Program:
    given: dict[str, Any] = {"target": "cpu"} | options
    return gcg.compile(text, **given)


def call(*, x: Any = None, n: Any = 1, a: Any = 1.0, b: Any = True) -> Any:
    array = np.zeros(4, np.float32) if x is None else x
    return program().f(array, n, a, b)


class Raises:
    """Fails whatever it is asked for, as tracers do."""

    def _fail(self, *_: object, **__: object) -> NoReturn:
        raise RuntimeError("a tracer\nhas no value")

    __index__ = __float__ = __dlpack__ = __dlpack_device__ = __repr__ = _fail
    __array_interface__ = property(_fail)


class Offers:
    """Says that it offers its memory."""

    def __init__(self, **protocol: Any) -> None:
        for name, value in protocol.items():
            setattr(self, f"__{name}__", value)


class Bf16:
    """A tensor of elements that NumPy has no name for."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: object) -> object:
        raise TypeError("got unsupported ScalarType BFloat16.")


INTERFACE = {"shape": (4,), "typestr": "<f4", "data": (0, False), "version": 3}

ARGUMENTS: dict[str, tuple[dict[str, Any], type[errors.Error], str]] = {
    "2**63": ({"n": 2**63}, errors.WrongArgumentType, "64 bits"),
    "-2**63 - 1": ({"n": -(2**63) - 1}, errors.WrongArgumentType, "64 bits"),
    "10**5000": ({"n": 10**5000}, errors.WrongArgumentType, "64 bits"),
    "index 1.0": ({"n": 1.0}, errors.WrongArgumentType, "float 1.0"),
    "index text": ({"n": "1"}, errors.WrongArgumentType, "str '1'"),
    "index tracer": ({"n": Raises()}, errors.WrongArgumentType, "got Raises"),
    "f32 text": ({"a": "2"}, errors.WrongArgumentType, "a number"),
    "f32 bytes": ({"a": b"2"}, errors.WrongArgumentType, "a number"),
    "f32 10**400": ({"a": 10**400}, errors.WrongArgumentType, "a number"),
    "f32 tracer": ({"a": Raises()}, errors.WrongArgumentType, "a number"),
    "i1 2": ({"b": 2}, errors.WrongArgumentType, "int 2"),
    "i1 1.0": ({"b": np.float32(1)}, errors.WrongArgumentType, "i1"),
    "list": ({"x": [1, 2, 3, 4]}, errors.WrongArgumentType, "numpy.asarray"),
    "tracer": ({"x": Raises()}, errors.UnreadableBuffer, ": a tracer. Pass"),
    "no interface": (
        {"x": Offers(array_interface=3)},
        errors.UnreadableBuffer,
        "argument x",
    ),
    "no memory": (
        {"x": Offers(array_interface=INTERFACE)},
        errors.UnreadableBuffer,
        "argument x",
    ),
    "no capsule": (
        {"x": Offers(dlpack=lambda **_: 3, dlpack_device=lambda: (1, 0))},
        errors.UnreadableBuffer,
        "argument x",
    ),
    "no device": (
        {"x": Offers(dlpack=lambda **_: 3, dlpack_device=lambda: "x")},
        errors.UnreadableBuffer,
        "argument x",
    ),
    "not on a GPU": (
        {"x": Offers(cuda_array_interface=3)},
        errors.UnreadableBuffer,
        "argument x",
    ),
}


@pytest.mark.cases("case", ARGUMENTS)
def test_arguments(case: str) -> None:
    given, kind, told = ARGUMENTS[case]
    with pytest.raises(kind) as caught:
        call(**given)
    assert told in str(caught.value)


def test_what_may_be_passed() -> None:
    for number in (2**63 - 1, -(2**63)):
        assert call(n=number) == number
    assert call(n=np.int8(-3), a=np.float32(2), b=np.True_) == -3
    assert call(a=2, b=0) == 1
    assert program().c(1, np.float64(2.0)) is None


@pytest.mark.parametrize("arguments", [("1", 1.0), (1.0, "1"), (1.0, b"1")], ids=repr)
def test_texts_are_no_numbers(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(errors.WrongArgumentType):
        program().c(*arguments)


def test_a_repeated_call_tells_the_same() -> None:
    function, x = program().f, np.zeros(4, np.float32)
    for _ in range(2):
        assert function(x, 3, 1.0, True) == 3
        for wrong in (2**63, "2", Raises()):
            with pytest.raises(errors.WrongArgumentType):
                function(x, wrong, 1.0, True)
            with pytest.raises((errors.WrongArgumentType, errors.UnreadableBuffer)):
                function(wrong, 1, 1.0, True)


def test_elements_that_numpy_has_no_name_for() -> None:
    with pytest.raises(errors.UnreadableBuffer) as caught:
        program().h(Bf16())
    assert str(caught.value).endswith("or of its bits, such as .view(uint16)")


def test_an_array_on_no_gpu_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(choice.VARIABLE, raising=False)
    missing = missing_for_cuda()
    if missing is None:
        pytest.skip("there is a GPU")
    fake = Offers(cuda_array_interface=INTERFACE)
    with pytest.raises(errors.NoDevice) as caught:
        gcg.compile(TEXT).f(fake, 1, 1.0, True)
    assert str(caught.value).endswith(missing[1])


SOURCES = {
    "None": None,
    "3": 3,
    "bytes": b"module {}",
    "list": ["module {}"],
    "function": gcg.parse(TEXT).functions["f"],
    "program": gcg.compile(TEXT),
}
ENTRIES: dict[str, Callable[[Any], object]] = {
    "parse": gcg.parse,
    "compile": gcg.compile,
    "analyze": gcg.analyze,
    "explain": gcg.explain,
}


@pytest.mark.cases("source", SOURCES)
@pytest.mark.cases("entry", ENTRIES)
def test_what_is_no_source(entry: str, source: str) -> None:
    with pytest.raises(errors.NotASource, match=r"pathlib\.Path"):
        ENTRIES[entry](SOURCES[source])


def test_a_module_is_not_parsed_again() -> None:
    with pytest.raises(errors.NotASource, match="of type Module"):
        gcg.parse(gcg.parse(TEXT))  # type: ignore[arg-type]


def test_texts_and_files_are_analysed_as_modules_are(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(DOWN, encoding="utf-8")
    wanted = str(gcg.analyze(gcg.parse(DOWN)))
    assert str(gcg.analyze(DOWN)) == str(gcg.analyze(path)) == wanted
    with pytest.raises(errors.PathAsText):
        gcg.analyze("f.mlir")


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    **{
        f"{name}={value!r}": ({name: value}, "Pass True or False")
        for name in ("exact", "verify", "tuned", "specialize", "allow_unregistered")
        for value in ("no", 1, None, [])
    },
    "threads=True": ({"threads": True}, "an integer >= 1"),
    "threads='2'": ({"threads": "2"}, "an integer >= 1"),
    "threads=-1": ({"threads": -1}, "an integer >= 1"),
    "threads=2.0": ({"threads": 2.0}, "an integer >= 1"),
    "register_tile": ({"register_tile": (-1, 2, 3)}, "option register_tile"),
    "alias": ({"alias": ["trust"]}, "'refuse' or 'trust'"),
    "handler 3": ({"handlers": {"x": 3}}, "names of operations to functions"),
    "handler of 3": ({"handlers": {3: print}}, "names of operations to functions"),
    "handlers": ({"handlers": [("x", print)]}, "names of operations to functions"),
    "no handlers": ({"handlers": None}, "names of operations to functions"),
    "thread": ({"thread": 2}, "Did you mean 'threads'"),
}


@pytest.mark.cases("case", OPTIONS)
def test_options(case: str) -> None:
    given, told = OPTIONS[case]
    with pytest.raises(errors.InvalidOption) as caught:
        program(**given)
    assert told in str(caught.value)


def test_numbers_of_numpy_are_options() -> None:
    made = program(exact=np.True_, threads=np.int64(2), tile_sizes=np.array([4, 4]))
    assert made.options == program(exact=True, threads=2, tile_sizes=(4, 4)).options


def test_a_name_that_a_program_does_not_have_is_no_attribute() -> None:
    made = program()
    for name in ("absent", "outside"):
        assert not hasattr(made, name)
        assert getattr(made, name, None) is None
    with pytest.raises(errors.UnknownFunction, match="Known functions: f, c, h"):
        _ = made.absent
    with pytest.raises(AttributeError) as caught:
        made.g  # noqa: B018
    twin = pickle.loads(pickle.dumps(caught.value))
    assert str(twin) == str(caught.value) == str(copy.copy(caught.value))


@pytest.mark.parametrize("name", [3, None, ["f"]], ids=repr)
def test_what_is_no_name(name: Any) -> None:
    for ask in (program().__getitem__, program().source):
        with pytest.raises(errors.UnknownFunction, match="Known functions"):
            ask(name)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_recursion_has_an_end(target: str) -> None:
    function = program(DOWN, target=target).down
    assert function(20) == 0
    with pytest.raises(errors.CallsTooDeep, match=r"calls in down.*as a loop"):
        function(10**7)
    with pytest.raises(errors.CallsTooDeep):
        function.bind(10**7)()
    assert function(20) == 0


@pytest.mark.parametrize("text", SPLATS.values(), ids=SPLATS)
def test_constants_larger_than_the_memory(text: str) -> None:
    with pytest.raises(errors.OutOfMemory, match="400000000000000 bytes"):
        program(text).much()


MADE: dict[str, tuple[Callable[..., object], tuple[int, ...]]] = {
    "matmul": (kernels.matmul, (2, 2)),
    "conv2d": (kernels.conv2d, (1, 2, 2, 1)),
}


@pytest.mark.cases("position", [0, 1])
@pytest.mark.cases("wrong", [[[1.0]], None, "a", Raises()], ids=type)
@pytest.mark.cases("name", MADE)
def test_ready_made_functions_take_arrays(name: str, wrong: Any, position: int) -> None:
    function, shape = MADE[name]
    operands: list[Any] = [np.ones(shape, np.float32)] * 2
    operands[position] = wrong
    with pytest.raises(errors.WrongArgumentType, match="NumPy, CuPy, PyTorch or JAX"):
        function(*operands)


def test_a_cache_whose_name_is_too_long_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path / ("x" * 300)))
    with pytest.warns(errors.CacheUnusable) as told:
        assert call(n=3) == 3
    assert len(told) == 1
