"""Random programs with scratch memory, compiled: copies change no result."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tiling_nests import nests
from tiling_oracle import evaluate, holds
from tiling_privates import SHAPES, programs

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.loops.array_privatization import Privatize
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import If, Loop, Node, Scop, Statement
from gpucodegen.tiling.proof.flow import undefined_reads

Memory = dict[str, np.ndarray[Any, Any]]


def defined(scop: Scop) -> Scop:
    """The program with arguments for the local arrays that are read undefined."""
    bad = {read.reference.access.array for read in undefined_reads(model(scop))}
    arrays = (
        replace(a, fresh=False, forgotten=False) if a.name in bad else a
        for a in scop.arrays
    )
    return replace(scop, arrays=tuple(arrays))


def of_type(name: str) -> str:
    return f"memref<{''.join(f'{extent}x' for extent in SHAPES[name])}f64>"


def text_of(scop: Scop) -> str:
    """The same program as MLIR; each statement adds what it reads to its number."""
    arguments = (f"%{a.name}: {of_type(a.name)}" for a in scop.arrays if not a.fresh)
    local = (
        f"%{a.name} = memref.alloc() : {of_type(a.name)}"
        for a in scop.arrays
        if a.fresh
    )
    lines = [f"func.func @f({', '.join(arguments)}) {{", *local]
    return "\n".join([*lines, *_lines(scop.body), "return", "}"])


def _lines(body: tuple[Node, ...]) -> list[str]:
    lines: list[str] = []
    for node in body:
        match node:
            case Loop():
                bounds = f"{_named(node.lowers[0])} to {node.uppers[0]}"
                head = f"affine.for %{node.name} = {bounds} step {node.step} {{"
                lines += [head, *_lines(node.body), "}"]
            case If():
                (condition,) = node.constraints or ("",)
                (name,) = re.findall(r"i\d*", condition)
                set_ = f"affine_set<({name}) : ({condition})>"
                lines += [f"affine.if {set_}(%{name}) {{", *_lines(node.body), "}"]
            case Statement():
                lines += _statement(node)
            case _:
                raise AssertionError(node)
    return lines


def _statement(node: Statement) -> list[str]:
    value = f"%{node.name}"
    lines = [f"{value} = arith.constant {node.name[1:]}.5 : f64"]
    for number, access in enumerate(node.accesses):
        cell = ", ".join(_named(str(index)) for index in access.indices)
        place = f"%{access.array}[{cell}] : {of_type(access.array)}"
        if access.writes:
            lines.append(f"affine.store {value}, {place}")
        else:
            lines += [
                f"{value}_{number} = affine.load {place}",
                f"{value}_sum = arith.addf {value}, {value}_{number} : f64",
            ]
            value = f"{value}_sum"
    return lines


def _named(text: str) -> str:
    return re.sub(r"\bi\d*\b", lambda found: f"%{found[0]}", text)


def interpret(body: tuple[Node, ...], env: dict[str, int], memory: Memory) -> None:
    for node in body:
        match node:
            case Loop():
                lower = evaluate(node.lowers[0], env)
                upper = evaluate(node.uppers[0], env)
                for value in range(lower, upper, node.step):
                    interpret(node.body, {**env, node.name: value}, memory)
            case If():
                if all(holds(c, env) for c in node.constraints or ()):
                    interpret(node.body, env, memory)
            case Statement():
                value = int(node.name[1:]) + 0.5
                for access in node.accesses:
                    cell = tuple(evaluate(str(e), env) for e in access.indices)
                    if access.writes:
                        memory[access.array][cell] = value
                    else:
                        value = value + memory[access.array][cell]
            case _:
                raise AssertionError(node)


def first_values() -> Memory:
    sizes = {name: math.prod(shape) for name, shape in SHAPES.items()}
    return {
        name: (100 + np.arange(sizes[name]) / 4).reshape(shape)
        for name, shape in SHAPES.items()
    }


@pytest.mark.slow
def test_results_are_those_of_the_text():
    seen: Counter[bool] = Counter()

    @settings(nests, max_examples=60)
    @given(programs())
    def check(scop: Scop):
        seen[is_changed_soundly(defined(scop))] += 1

    check()
    assert seen[True] >= 12


def is_changed_soundly(scop: Scop) -> bool:
    """Whether ``privatize`` changes a program; its results must stay."""
    module = gcg.parse(text_of(scop))
    changed = run_pipeline(module, [Privatize()])
    if str(changed) == str(module):
        return False
    wanted, found = first_values(), first_values()
    interpret(scop.body, {}, wanted)
    kept = [a.name for a in scop.arrays if not a.fresh]
    gcg.compile(changed, target="sim")["f"](*(found[name] for name in kept))
    for name in kept:
        assert np.array_equal(found[name], wanted[name]), name
    return True
