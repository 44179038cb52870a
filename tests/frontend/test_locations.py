"""Locations: every kind, on operations, as attributes, by alias."""

from __future__ import annotations

import pytest
from single import attribute, check_refused, only, read

from gpucodegen import errors
from gpucodegen.dialects.framework.printing import print_module
from gpucodegen.ir.locations import UNKNOWN, FileLoc, FusedLoc, NameLoc
from gpucodegen.ir.printing import LocationAttr

KINDS = """
unknown
"name"
"name"("file.mlir":3:4)
"file.mlir":3:4
"file.mlir":3:4 to :9
"file.mlir":3:4 to 7:9
callsite("callee" at "file.mlir":10:8)
callsite("a" at callsite("b" at "c"))
fused["a", "b":1:2]
fused<"CSE">["a":10:8, unknown]
fused<{n = 1, pass = "x"}>[]
"quoted \\22 \\0A"
""".strip().split("\n")


@pytest.mark.cases("text", KINDS)
def test_prints_as_written(text: str):
    assert str(attribute(f"loc({text})")) == f"loc({text})"
    module = read(f'"t.t"() : () -> () loc({text})')
    printed = print_module(module.operation, locations=True)
    assert f": () -> () loc({text})\n" in printed
    again = print_module(read(printed).operation, locations=True)
    assert again == printed


@pytest.mark.cases(
    ("text", "location"),
    [
        ('"f"', NameLoc("f")),
        ('"f":3', FileLoc("f", 3)),
        ('"f":3:4 to :5', FileLoc("f", 3, 4, 3, 5)),
        ('"f":3:4 to 6:5', FileLoc("f", 3, 4, 6, 5)),
        ("?", UNKNOWN),
        ("fused[]", FusedLoc(())),
    ],
)
def test_means(text: str, location: object):
    assert only(f'"t.t"() : () -> () loc({text})').location == location


def test_aliases_at_the_end_of_the_file():
    text = """
    "t.t"() ({
    ^bb0(%a: i32 loc("argument"), %b: f32 loc(#loc1)):
      "t.u"(%a) : (i32) -> () loc(#loc2)
    }) {where = #loc1} : () -> () loc(#loc2)
    #loc1 = loc("f.mlir":1:2)
    #loc2 = loc(fused<#meta>[#loc1, "x"(#loc1)])
    #meta = "why"
    """
    op = only(text)
    place = FileLoc("f.mlir", 1, 2)
    assert str(op.location) == "f.mlir:1:2"
    assert op.regions[0].blocks[0].operations[0].location == op.location
    assert op.attributes["where"] == LocationAttr(place)


def test_arguments_of_functions():
    text = 'func.func @f(%a: i32 loc("a"), %b: f32 {t.x} loc("b":1:1)) { return }'
    assert len(read(text).functions) == 1


@pytest.mark.cases(
    ("text", "code"),
    [
        ("loc(§)", "P001"),
        ("loc(§somewhere)", "P001"),
        ("loc(§#missing)", "P009"),
        ('loc("f":§-1:2)', "P001"),
        ('loc("f":1:2 to§)', "P001"),
        ('loc("f":1:2 to 3§)', "P001"),
        ('loc(callsite("a" §"b"))', "P001"),
        ('loc(fused["a" §"b"])', "P004"),
        ('loc("a"("b"§}', "P004"),
    ],
)
def test_is_refused(text: str, code: str):
    check_refused(text, code)


def test_an_attribute_is_no_location():
    with pytest.raises(errors.UnknownAlias):
        read('#a = 1\n"t.t"() : () -> () loc(#a)')
