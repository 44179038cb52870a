"""Nothing of the user's text reaches generated source but numbers and plain names."""

from __future__ import annotations

import ast

import pytest

from gpucodegen import errors
from gpucodegen.compiling.targets import find
from gpucodegen.emit import CPU, emit_program
from gpucodegen.emit.source import PythonNames, place, sanitized
from gpucodegen.ir.locations import FileLoc
from gpucodegen.parser import parse_module

EVIL = "x'); import os #"


def test_hints_become_identifiers():
    for hint in (EVIL, "", "0", "größe", "class", "a" * 500, "__import__", "rt", "\n"):
        assert sanitized(hint).isidentifier()
        assert sanitized(hint).isascii()
        assert PythonNames().fresh(hint) not in {"class", "rt", "__import__"}


def test_file_names_cannot_leave_their_comment():
    where = FileLoc("dir/a\n'''evil.mlir", 3)
    assert place(where) == "a_evil.mlir:3"


def test_function_and_global_names_are_only_hints():
    text = f"""
    memref.global constant @"{EVIL}g" : memref<1xf32> = dense<1.0>
    func.func @"{EVIL}"(%x: f32) -> f32 {{
      %c0 = arith.constant 0 : index
      %g = memref.get_global @"{EVIL}g" : memref<1xf32>
      %y = memref.load %g[%c0] : memref<1xf32>
      return %y : f32
    }}"""
    program = emit_program(parse_module(text, "evil.mlir"), CPU)
    assert "import os" not in program.host_source
    assert program.entries[EVIL].python_name.isidentifier()
    ast.parse(program.host_source)


def kernel(body: str, arguments: str = "%x: memref<8xf32>") -> str:
    head = f"func.func private @k({arguments}) attributes {{gcg.kernel = "
    return f'{head}"cpu"}} {{\n{body}\n  return\n}}'


def refused(text: str, target: str = "cpu") -> errors.CompileError:
    module = parse_module(text, "bad.mlir", allow_unregistered=True)
    with pytest.raises(errors.CompileError) as caught:
        emit_program(module, find(target).emission())
    return caught.value


def test_an_operation_without_text_is_an_error_at_its_line():
    error = refused(kernel("  gpu.barrier"))
    assert isinstance(error, errors.UnsupportedOperation)
    assert str(error).startswith(
        "bad.mlir:2:3: error: 'gpu.barrier' cannot be compiled"
    )
    assert error.remedy


def test_an_unknown_operation_is_named():
    error = refused(kernel('  "my.op"() : () -> ()'))
    assert isinstance(error, errors.UnregisteredOperation)
    assert "'my.op'" in str(error)


def test_a_type_without_storage_is_named():
    error = refused(kernel("", "%x: memref<8xi7>"))
    assert isinstance(error, errors.UnsupportedType)
    assert "i7" in str(error)


def test_a_call_of_a_function_without_body_is_an_error():
    text = """
    func.func private @other(f32)
    func.func @f(%x: f32) {
      func.call @other(%x) : (f32) -> ()
      return
    }"""
    assert isinstance(refused(text), errors.ExternalFunction)


def test_what_nobody_can_call_may_be_beyond_us():
    text = """
    func.func private @odd() { "my.op"() : () -> () return }
    func.func private @odder() { func.call @odd() : () -> () return }
    func.func @f() { return }"""
    module = parse_module(text, "odd.mlir", allow_unregistered=True)
    with pytest.raises(errors.UnregisteredOperation):
        emit_program(module, CPU)
