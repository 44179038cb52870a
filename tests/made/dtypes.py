"""Loops over arrays of many types, with casts between them."""

from __future__ import annotations

from random import Random

from tests.made.arithmetic import arithmetic
from tests.made.program import (
    FLOATS,
    INTEGERS,
    NARROW,
    ODD,
    Made,
    Maker,
    is_float,
    memref,
    numbers,
)
from tests.scalars.values import bits

LENGTH = 16
ALL = (*INTEGERS, *FLOATS, *NARROW, *ODD)


def cast(m: Maker, value: str, source: str, target: str) -> str:
    """A value at another type; floats stay where integers can hold them."""
    if source == target:
        return value
    if is_float(source) and is_float(target):
        return m.value(
            f"arith.{_resized(source, target)} {value} : {source} to {target}"
        )
    if is_float(source):
        held = value
        for op, bound in (("minimumf", 100.0), ("maximumf", -100.0)):
            limit = m.value(f"arith.constant {bound} : {source}")
            held = m.value(f"arith.{op} {held}, {limit} : {source}")
        wide = m.value(f"arith.fptosi {held} : {source} to i32")
        return cast(m, wide, "i32", target)
    if is_float(target):
        if source == "index":
            return cast(m, cast(m, value, source, "i64"), "i64", target)
        op = m.random.choice(["sitofp", "uitofp"])
        if bits(source) > 8:
            op = "sitofp"
        return m.value(f"arith.{op} {value} : {source} to {target}")
    if "index" in (source, target):
        op = m.random.choice(["index_cast", "index_castui"])
        return m.value(f"arith.{op} {value} : {source} to {target}")
    wider = bits(target) > bits(source)
    op = m.random.choice(["extsi", "extui"]) if wider else "trunci"
    return m.value(f"arith.{op} {value} : {source} to {target}")


WIDTHS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}


def _resized(source: str, target: str) -> str:
    return "extf" if WIDTHS[target] > WIDTHS[source] else "truncf"


def made(seed: int) -> Made:
    """Two arrays in, one out, over one or two loops; narrow floats meet as f32."""
    m = Maker(Random(seed))
    types = [m.random.choice(ALL) for _ in range(3)]
    arrays = [memref(ty, [LENGTH]) for ty in types]
    where = m.random.choice(["%i", f"{LENGTH - 1} - %i"])
    x = m.value(f"affine.load %A[{where}] : {arrays[0]}")
    y = m.value(f"affine.load %B[%i] : {arrays[1]}")
    ty = m.random.choice(types)
    x, y = between(m, x, types[0], ty), between(m, y, types[1], ty)
    for _ in range(m.random.randint(1, 3)):
        x, y = arithmetic(m, x, y, ty), x
    z = between(m, x, ty, types[2])
    old = m.value(f"affine.load %C[%i] : {arrays[2]}")
    z = arithmetic(m, z, old, types[2])
    m.line(f"affine.store {z}, %C[%i] : {arrays[2]}")
    heads = ", ".join(f"%{name}: {ty}" for name, ty in zip("ABC", arrays, strict=True))
    body = "\n".join(m.lines)
    step = m.random.choice(["", "", " step 3"])
    text = (
        f"func.func @f({heads}) {{\naffine.for %i = 0 to {LENGTH}{step} {{\n"
        f"{body}\n}}\nreturn\n}}"
    )
    given = [numbers(m.random, [LENGTH], ty) for ty in types]
    return Made("dtypes", seed, text, given)


def between(m: Maker, value: str, source: str, target: str) -> str:
    """A cast, through f32 where no single one is defined."""
    if {source, target} == set(NARROW):
        return cast(m, cast(m, value, source, "f32"), "f32", target)
    return cast(m, value, source, target)
