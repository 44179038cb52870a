"""Print, parse, print gives the same text: short form, generic form, with locations."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpucodegen.dialects.framework.printing import print_module
from gpucodegen.dialects.framework.registry import DIALECTS, operations
from gpucodegen.parser import parse_module

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted((Path(__file__).parent / "corpus").glob("*.mlir")),
    *sorted((ROOT / "examples").glob("*.mlir")),
]
NAMES = [path.stem for path in FILES]


@pytest.mark.sampled(3)
@pytest.mark.cases("path", FILES, ids=NAMES, parts=2)
def test_short_form(path: Path):
    module = parse_module(path.read_text(), str(path))
    text = str(module)
    assert str(parse_module(text)) == text


@pytest.mark.sampled(3)
@pytest.mark.cases("path", FILES, ids=NAMES, parts=4)
def test_generic_form_means_the_same(path: Path):
    module = parse_module(path.read_text(), str(path))
    generic = module.generic()
    again = parse_module(generic)
    assert again.generic() == generic
    assert str(again) == str(module)


@pytest.mark.sampled(3)
@pytest.mark.cases("path", FILES, ids=NAMES, parts=3)
def test_locations_survive(path: Path):
    module = parse_module(path.read_text(), "where.mlir")
    text = print_module(module.operation, locations=True)
    assert text.count(" loc(") > 1
    again = parse_module(text, "elsewhere.mlir")
    assert print_module(again.operation, locations=True) == text


@pytest.mark.cases("path", FILES, ids=NAMES)
def test_every_operation_has_a_place(path: Path):
    text = path.read_text()
    for op in parse_module(text, "a.mlir").walk():
        assert path.stem == "builtin" or ":" in str(op.location)


@pytest.mark.slow
def test_corpus_covers_most_operations():
    seen: set[str] = set()
    for path in FILES:
        seen |= {op.name for op in parse_module(path.read_text()).walk()}
    known = {name for dialect in DIALECTS for name in operations(dialect)}
    # tests/others covers the first three, tests/schedule the last one
    others = ("stablehlo.", "chlo.", "tosa.", "transform.")
    families = ("math.", "arith.", "linalg.", "gpu.", "check.", *others)
    missing = {n for n in known - seen if not n.startswith(families)}
    assert len(missing) <= len(known) // 8, sorted(missing)


_RESULTS = {
    "math.isfinite": "i1",
    "math.isinf": "i1",
    "math.isnan": "i1",
    "math.isnormal": "i1",
}
_CASTS = {
    "arith.extf": ("f32", "f64"),
    "arith.truncf": ("f64", "f32"),
    "arith.extsi": ("i8", "i32"),
    "arith.extui": ("i8", "i32"),
    "arith.trunci": ("i32", "i8"),
    "arith.fptosi": ("f32", "i32"),
    "arith.fptoui": ("f32", "i32"),
    "arith.sitofp": ("i32", "f32"),
    "arith.uitofp": ("i32", "f32"),
    "arith.index_cast": ("i32", "index"),
    "arith.index_castui": ("i32", "index"),
    "arith.bitcast": ("i32", "f32"),
    "arith.convertf": ("f16", "bf16"),
    "arith.scaling_extf": ("f16", "f32"),
    "arith.scaling_truncf": ("f32", "f16"),
}
_OWN = {"arith.constant", "arith.select", "arith.cmpi", "arith.cmpf", "math.fpowi"}


def _generic_example(name: str) -> str:
    definition = operations(name.partition(".")[0])[name]
    takes = next(iter(definition.types.values()))
    default = "f32" if "float" in takes.what else "i32"
    source, target = _CASTS.get(name, (default, _RESULTS.get(name, default)))
    inputs = ", ".join([source] * len(definition.operands))
    names = ", ".join(["%a"] * len(definition.operands))
    outputs = ", ".join([target] * len(definition.results))
    count = len(definition.results)
    return (
        f"func.func @f(%a: {source}) {{\n"
        f'  %0:{count} = "{name}"({names}) : ({inputs}) -> ({outputs})\n  return\n}}'
    )


SIMPLE = [
    name
    for dialect in ("arith", "math")
    for name in operations(dialect)
    if name not in _OWN and "extended" not in name
]


@pytest.mark.cases("name", SIMPLE)
def test_every_scalar_operation_from_its_generic_form(name: str):
    short = str(parse_module(_generic_example(name)))
    assert name in short
    assert f'"{name}"' not in short
    assert str(parse_module(short)) == short
