"""Control flow: loops, branches and blocks around scalars and one array."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.made.arithmetic import COMPARED, arithmetic
from tests.made.program import TYPES, Made, Maker, is_float, literal, memref, numbers

LENGTH = 8


class Control(Maker):
    """Scalars of one type, indices below LENGTH, and an array."""

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed))
        self.ty = self.random.choice([*TYPES, "index"])
        self.array = memref(self.ty, [LENGTH])
        self.scalars = ["%x", "%y"]
        self.indices: list[str] = []
        self.functions: list[str] = []

    # -- scopes ------------------------------------------------------------------------

    def inside(self, depth: int, count: int | None = None) -> str:
        """Statements of a block, which sees what is around; the value it passes on."""
        kept = list(self.scalars), list(self.indices)
        for _ in range(self.random.randint(0, 2) if count is None else count):
            self.statement(depth)
        last = self.scalar()
        self.scalars, self.indices = kept
        return last

    def scalar(self) -> str:
        return self.random.choice(self.scalars[-3:])

    def place(self) -> str:
        return self.random.choice(self.indices) if self.indices else self.index(1)

    def condition(self) -> str:
        a, b = self.scalar(), self.scalar()
        op = "cmpf" if is_float(self.ty) else "cmpi"
        kind = self.random.choice(COMPARED[is_float(self.ty)])
        return self.value(f"arith.{op} {kind}, {a}, {b} : {self.ty}")

    # -- statements --------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        plain: list[Callable[[int], None]] = [self.compute, self.load, self.store]
        nested = [self.loop, self.affine_loop, self.branch, self.repeat, self.switch]
        nested += [self.blocks, self.call, self.affine_branch]
        choices = plain + (nested if depth else [])
        self.random.choice(choices)(depth - 1)

    def compute(self, _depth: int) -> None:
        self.scalars.append(arithmetic(self, self.scalar(), self.scalar(), self.ty))

    def load(self, _depth: int) -> None:
        text = f"memref.load %A[{self.place()}] : {self.array}"
        self.scalars.append(self.value(text))

    def store(self, _depth: int) -> None:
        value, place = self.scalar(), self.place()
        self.line(f"memref.store {value}, %A[{place}] : {self.array}")

    def loop(self, depth: int) -> None:
        first = self.random.randint(0, 3)
        bounds = (first, self.random.randint(first, LENGTH), self.random.choice([1, 3]))
        low, high, step = map(self.index, bounds)
        init, made, carried, i = self.scalar(), self.name(), self.name(), self.name("i")
        self.line(
            f"{made} = scf.for {i} = {low} to {high} step {step}"
            f" iter_args({carried} = {init}) -> ({self.ty}) {{"
        )
        self.closed(made, depth, [carried], [i], "scf.yield")

    def affine_loop(self, depth: int) -> None:
        first = self.random.randint(0, 3)
        high, step = self.random.randint(first, LENGTH), self.random.choice([1, 1, 2])
        init, made, carried, i = self.scalar(), self.name(), self.name(), self.name("d")
        self.line(
            f"{made} = affine.for {i} = {first} to {high} step {step}"
            f" iter_args({carried} = {init}) -> ({self.ty}) {{"
        )
        self.closed(made, depth, [carried], [i], "affine.yield")

    def closed(
        self, made: str, depth: int, scalars: list[str], indices: list[str], end: str
    ) -> None:
        """The body of a loop, and its result."""
        outer = list(self.scalars), list(self.indices)
        self.scalars += scalars
        self.indices += indices
        last = self.inside(depth, self.random.randint(1, 3))
        self.scalars, self.indices = outer
        self.line(f"{end} {last} : {self.ty}\n}}")
        self.scalars.append(made)

    def branch(self, depth: int) -> None:
        asked, made = self.condition(), self.name()
        self.line(f"{made} = scf.if {asked} -> ({self.ty}) {{")
        self.line(f"scf.yield {self.inside(depth)} : {self.ty}\n}} else {{")
        self.line(f"scf.yield {self.inside(depth)} : {self.ty}\n}}")
        self.scalars.append(made)

    def affine_branch(self, depth: int) -> None:
        place, made = self.place(), self.name()
        if not place.startswith("%d"):
            return
        self.line(
            f"{made} = affine.if affine_set<(d) : (d - {self.random.randint(0, 3)}"
            f" >= 0)>({place}) -> {self.ty} {{"
        )
        self.line(f"affine.yield {self.inside(depth)} : {self.ty}\n}} else {{")
        self.line(f"affine.yield {self.inside(depth)} : {self.ty}\n}}")
        self.scalars.append(made)

    def repeat(self, depth: int) -> None:
        """``scf.while`` that counts."""
        zero, one, last = (self.index(n) for n in (0, 1, self.random.randint(0, 4)))
        init = self.scalar()
        made, x, k, go, y, j, more = (self.name() for _ in range(7))
        counted = self.name("i")
        types = f"{self.ty}, index"
        self.line(
            f"{made}, {counted} = scf.while ({x} = {init}, {k} = {zero})"
            f" : ({types}) -> ({types}) {{"
        )
        outer = list(self.scalars), list(self.indices)
        self.scalars.append(x)
        self.indices.append(k)
        passed = self.inside(0)
        self.line(f"{go} = arith.cmpi slt, {k}, {last} : index")
        self.line(f"scf.condition({go}) {passed}, {k} : {types}\n}} do {{")
        self.line(f"^bb0({y}: {self.ty}, {j}: index):")
        self.scalars, self.indices = [*outer[0], y], [*outer[1], j]
        value = self.inside(depth)
        self.line(f"{more} = arith.addi {j}, {one} : index")
        self.line(f"scf.yield {value}, {more} : {types}\n}}")
        self.scalars, self.indices = [*outer[0], made], [*outer[1], counted]

    def switch(self, depth: int) -> None:
        place, made = self.place(), self.name()
        self.line(f"{made} = scf.index_switch {place} -> {self.ty}")
        for number in (0, 2, 5)[: self.random.randint(1, 3)]:
            self.line(f"case {number} {{")
            self.line(f"scf.yield {self.inside(depth)} : {self.ty}\n}}")
        self.line("default {")
        self.line(f"scf.yield {self.inside(depth)} : {self.ty}\n}}")
        self.scalars.append(made)

    def blocks(self, depth: int) -> None:
        """Blocks that branch forward, as one region or as a function."""
        made = self.name()
        if self.chance(0.5):
            self.line(f"{made} = scf.execute_region -> {self.ty} {{")
            self.graph("scf.yield", depth)
            self.line("}")
        else:
            name = f"g{self.names}"
            x, y = self.scalar(), self.scalar()
            outer = self.lines, self.scalars, self.indices
            self.lines, self.scalars, self.indices = [], ["%x", "%y"], []
            self.line(
                f"func.func private @{name}(%A: {self.array}, %x: {self.ty},"
                f" %y: {self.ty}) -> {self.ty} {{"
            )
            self.graph("func.return", depth)
            self.functions.append("\n".join([*self.lines, "}"]))
            self.lines, self.scalars, self.indices = outer
            types = f"({self.array}, {self.ty}, {self.ty}) -> {self.ty}"
            self.line(f"{made} = func.call @{name}(%A, {x}, {y}) : {types}")
        self.scalars.append(made)

    def graph(self, end: str, depth: int) -> None:
        """A diamond, a switch, or a loop of blocks."""
        n = self.names = self.names + 1
        ty, kind = self.ty, self.random.choice(["diamond", "switch", "loop"])
        if kind == "diamond":
            asked = self.condition()
            self.line(f"cf.cond_br {asked}, ^t{n}, ^e{n}({self.scalar()} : {ty})")
            self.line(f"^t{n}:")
            self.line(f"cf.br ^e{n}({self.inside(min(depth, 0))} : {ty})")
        elif kind == "switch":
            flag = self.value(f"arith.index_cast {self.place()} : index to i32")
            a, b = self.scalar(), self.scalar()
            self.line(
                f"cf.switch {flag} : i32, [default: ^e{n}({a} : {ty}),"
                f" 1: ^t{n}, 3: ^e{n}({b} : {ty})]"
            )
            self.line(f"^t{n}:")
            self.line(f"cf.br ^e{n}({self.inside(0)} : {ty})")
        else:
            zero, one, last = (self.index(i) for i in (0, 1, self.random.randint(1, 4)))
            k, x, go, more = (self.name() for _ in range(4))
            self.line(f"cf.br ^l{n}({zero}, {self.scalar()} : index, {ty})")
            self.line(f"^l{n}({k}: index, {x}: {ty}):")
            outer = list(self.scalars), list(self.indices)
            self.scalars.append(x)
            self.indices.append(k)
            value = self.inside(0, 2)
            self.scalars, self.indices = outer
            self.line(f"{more} = arith.addi {k}, {one} : index")
            self.line(f"{go} = arith.cmpi slt, {more}, {last} : index")
            again = f"^l{n}({more}, {value} : index, {ty})"
            self.line(f"cf.cond_br {go}, {again}, ^e{n}({value} : {ty})")
        self.line(f"^e{n}(%r{n}: {ty}):\n{end} %r{n} : {ty}")

    def call(self, depth: int) -> None:
        """A function that calls itself until a number is reached."""
        del depth
        name, made, start = f"h{self.names}", self.name(), self.place()
        outer = self.lines, self.scalars
        self.lines, self.scalars = [], ["%x", "%y"]
        new = arithmetic(self, "%x", "%y", self.ty)
        body = "\n".join(self.lines)
        self.lines, self.scalars = outer
        ty = self.ty
        types = f"(index, {ty}, {ty}) -> {ty}"
        self.functions.append(
            f"func.func private @{name}(%k: index, %x: {ty}, %y: {ty}) -> {ty} {{\n"
            f"%one = arith.constant 1 : index\n%end = arith.constant {LENGTH} : index\n"
            f"%go = arith.cmpi slt, %k, %end : index\n"
            f"%r = scf.if %go -> ({ty}) {{\n{body}\n"
            f"%n = arith.addi %k, %one : index\n"
            f"%d = func.call @{name}(%n, {new}, %x) : {types}\nscf.yield %d : {ty}\n"
            f"}} else {{\nscf.yield %x : {ty}\n}}\nreturn %r : {ty}\n}}"
        )
        x, y = self.scalar(), self.scalar()
        self.line(f"{made} = func.call @{name}({start}, {x}, {y}) : {types}")
        self.scalars.append(made)


def made(seed: int) -> Made:
    m = Control(seed)
    second = m.value(f"arith.constant {literal(m.random, m.ty)}")
    m.lines[-1] = m.lines[-1].replace(second, "%y")
    at = m.index(m.random.randrange(LENGTH))
    m.line(f"%x = memref.load %A[{at}] : {m.array}")
    last = m.inside(2, m.random.randint(2, 4))
    body = "\n".join(m.lines)
    text = "\n".join(
        [
            *m.functions,
            f"func.func @f(%A: {m.array}) -> {m.ty} {{\n{body}",
            f"return {last} : {m.ty}\n}}",
        ]
    )
    return Made("control", seed, text, [numbers(m.random, [LENGTH], m.ty)])
