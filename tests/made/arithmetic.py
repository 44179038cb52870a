"""Arithmetic on values of one type: scalars, vectors or whole tensors.

No result is open: shifts are short, divisors are constants but zero.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.made.program import Maker, is_float, literal

INTEGER = "addi subi muli andi ori xori maxsi minsi maxui minui".split()
FLOAT = "addf subf mulf maximumf minimumf maxnumf minnumf".split()
COMPARED = {
    False: "eq ne slt sle sgt sge ult ule ugt uge".split(),
    True: "oeq one olt ole ogt oge une ult uge".split(),
}


def arithmetic(m: Maker, a: str, b: str, element: str, whole: str = "") -> str:
    """One operation on two values of type ``whole``, that of ``element`` unless given.

    Integer types need not be signless: none of them is.
    """
    whole = whole or element
    makers: list[Callable[..., str]] = [_binary, _binary, _binary, _chosen]
    makers += [_scaled, _unary] if is_float(element) else [_divided, _shifted]
    return m.random.choice(makers)(m, a, b, element, whole)


def _binary(m: Maker, a: str, b: str, element: str, whole: str) -> str:
    op = m.random.choice(FLOAT if is_float(element) else INTEGER)
    return m.value(f"arith.{op} {a}, {b} : {whole}")


def constant(m: Maker, text: str, element: str, whole: str) -> str:
    """A constant of a scalar's text, in every place of the whole."""
    if whole == element:
        return m.value(f"arith.constant {text}")
    number = text.partition(" : ")[0]
    return m.value(f"arith.constant dense<{number}> : {whole}")


def _chosen(m: Maker, a: str, b: str, element: str, whole: str) -> str:
    op = "cmpf" if is_float(element) else "cmpi"
    kind = m.random.choice(COMPARED[is_float(element)])
    asked = m.value(f"arith.{op} {kind}, {a}, {b} : {whole}")
    bits = whole.replace(element, "i1") if whole != element else "i1"
    types = whole if whole == element else f"{bits}, {whole}"
    return m.value(f"arith.select {asked}, {b}, {a} : {types}")


def _scaled(m: Maker, a: str, b: str, element: str, whole: str) -> str:
    del b
    factor = constant(m, literal(m.random, element), element, whole)
    op = m.random.choice(["mulf", "divf", "subf"])
    return m.value(f"arith.{op} {a}, {factor} : {whole}")


def _unary(m: Maker, a: str, b: str, element: str, whole: str) -> str:
    del b, element
    op = m.random.choice(["arith.negf", "math.absf", "math.floor", "math.ceil"])
    return m.value(f"{op} {a} : {whole}")


def _divided(m: Maker, a: str, b: str, element: str, whole: str) -> str:
    if element == "i1":
        return _binary(m, a, b, element, whole)
    number = m.random.choice([2, 3, 5, 7])
    divisor = constant(m, f"{number} : {element}", element, whole)
    ops = ["divsi", "remsi", "divui", "remui", "floordivsi", "ceildivsi", "ceildivui"]
    return m.value(f"arith.{m.random.choice(ops)} {a}, {divisor} : {whole}")


def _shifted(m: Maker, a: str, b: str, element: str, whole: str) -> str:
    if element == "i1":
        return _binary(m, a, b, element, whole)
    by = constant(m, f"{m.random.randint(0, 2)} : {element}", element, whole)
    op = m.random.choice(["shli", "shrsi", "shrui"])
    return m.value(f"arith.{op} {a}, {by} : {whole}")
