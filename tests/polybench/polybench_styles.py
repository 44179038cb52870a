"""The same kernels in other styles of MLIR: each function maps text to text."""

from __future__ import annotations

import re

_DIM = re.compile(r"^ *%(\w+) = memref\.dim %(\w+), %c(\d) : .*\n", re.MULTILINE)
_ACCESS = re.compile(r"^( *)(.*affine\.(?:load|store) .*)\[(.*)\](.*)\n", re.MULTILINE)
_CARRYING = re.compile(
    r"( *)%(\w+) = (affine\.for .*) iter_args\(%(\w+) = %(\w+)\) -> \((\w+)\) \{"
)


def without_aliases(text: str) -> str:
    """Types written out."""
    aliases = dict(re.findall(r"^!(\w+) = (.*)\n", text, re.MULTILINE))
    text = re.sub(r"^!\w+ = .*\n", "", text, flags=re.MULTILINE)
    for name, ty in aliases.items():
        text = re.sub(rf"!{name}\b", ty, text)
    return text


def single_precision(text: str) -> str:
    """``f32`` for ``f64``."""
    return text.replace("f64", "f32")


def extents(text: str) -> list[tuple[str, int]]:
    """Per extent, the array and the dimension that it is of."""
    return [(memref, int(dimension)) for _, memref, dimension in _DIM.findall(text)]


def sizes_as_arguments(text: str, ty: str = "index") -> str:
    """Extents are arguments, as ``index`` or as integers that are cast."""
    names = [name for name, _, _ in _DIM.findall(text)]
    text = _DIM.sub("", without_aliases(text))
    suffix = "" if ty == "index" else "_arg"
    formal = ", ".join(f"%{name}{suffix}: {ty}" for name in names)
    text = re.sub(r"(func\.func @\w+\()", rf"\1{formal}, ", text)
    if ty == "index":
        return text
    casts = (f"  %{n} = arith.index_cast %{n}_arg : {ty} to index\n" for n in names)
    return text.replace(") {\n", ") {\n" + "".join(casts), 1)


def integer_sizes(text: str) -> str:
    """As programs that come from C have it."""
    return sizes_as_arguments(text, "i32")


def plain_accesses(text: str) -> str:
    """``memref.load`` at indices that ``affine.apply`` computes."""
    count = 0

    def plain(match: re.Match[str]) -> str:
        nonlocal count
        indent, head, indices, tail = match.groups()
        lines, names = "", list[str]()
        for index in filter(None, indices.split(", ")):
            operands = list(dict.fromkeys(re.findall(r"%\w+", index)))
            if index in operands:
                names.append(index)
                continue
            formal = [f"x{at}" for at in range(len(operands))]
            result = re.sub(r"symbol\((%\w+)\)", r"\1", index)
            for name, operand in zip(formal, operands, strict=True):
                result = re.sub(rf"{operand}\b", name, result)
            count += 1
            map_ = f"affine_map<({', '.join(formal)}) -> ({result})>"
            lines += (
                f"{indent}%at{count} = affine.apply {map_}({', '.join(operands)})\n"
            )
            names.append(f"%at{count}")
        return f"{lines}{indent}{head}[{', '.join(names)}]{tail}\n"

    text = _ACCESS.sub(plain, without_aliases(text))
    return re.sub(r"affine\.(load|store)", r"memref.\1", text)


def text_of_2019(text: str) -> str:
    """Operations of the standard dialect without a prefix."""
    text = plain_accesses(text)
    text = re.sub(r"memref\.dim (%\w+), %c(\d)", r"dim \1, \2", text)
    text = re.sub(r"arith\.(cmp[fi]) (\w+),", r'\1 "\2",', text)
    text = re.sub(r"(func\.|memref\.|math\.|arith\.)(?=[a-z])", "", text)
    return text.replace("extui", "zexti")


def cells_for_carried_values(text: str) -> str:
    """``alloca`` of one element instead of ``iter_args`` of a single value."""
    lines, open_loops, cells = list[str](), list[tuple[str, ...] | None](), list[str]()
    for line in without_aliases(text).splitlines():
        loop = _CARRYING.fullmatch(line)
        if loop:
            indent, result, head, carried, init, ty = loop.groups()
            cell = f"%cell{len(cells)}[] : memref<{ty}>"
            cells.append(f"  %cell{len(cells)} = memref.alloca() : memref<{ty}>")
            lines += [f"{indent}affine.store %{init}, {cell}", f"{indent}{head} {{"]
            lines.append(f"{indent}  %{carried} = affine.load {cell}")
            open_loops.append((indent, result, cell))
            continue
        inner = open_loops[-1] if open_loops else None
        if "affine.yield" in line and inner:
            value = line.split()[1]
            lines.append(f"{inner[0]}  affine.store {value}, {inner[2]}")
            continue
        lines.append(line)
        if line.strip() == "}" and open_loops:
            closed = open_loops.pop()
            if closed:
                lines.append(f"{closed[0]}%{closed[1]} = affine.load {closed[2]}")
        elif line.endswith("{"):
            open_loops.append(None)
    top = next(at for at, line in enumerate(lines) if line.endswith(") {"))
    return "\n".join([*lines[: top + 1], *cells, *lines[top + 1 :]])
