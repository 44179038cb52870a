"""Syntax of affine accesses, transfers and index arithmetic."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import affine as view
from gpucodegen.dialects.affine.loops import applied, subscripts_text
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.dialects.memref.custom import parse_prefetch_flags, prefetch_flags
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, Type, element_type

# -- apply, min, max -------------------------------------------------------------------


def parse_apply(r: Reader, state: State) -> None:
    """``affine_map<..>(%i)[%n]``."""
    map_ = r.affine_map()
    state.operands = r.affine_operands(map_.num_dims, map_.num_syms)
    state.attributes |= r.attr_dict()
    state.attributes["map"] = AffineMapAttr(map_)
    state.result_types = [INDEX] if state.name != "affine.apply" else _apply_types(map_)


def _apply_types(map_: AffineMap) -> list[Type]:
    return [INDEX for _ in map_.results]


def print_apply(w: Writer, o: Operation) -> None:
    """``affine_map<..>(%i)[%n]``."""
    map_ = view.map_of(o)
    w.write(f" {AffineMapAttr(map_)}{applied(w, map_.num_dims, o.operands)}")
    w.attr_dict(o, ("map",))


# -- element and vector accesses -------------------------------------------------------


def _parse_element(r: Reader, state: State) -> tuple[Use, list[Value]]:
    """``%m[affine indices]``."""
    memref = r.use()
    map_, indices = r.subscripts("[", "]")
    state.attributes["map"] = AffineMapAttr(map_)
    return memref, indices


def parse_load(r: Reader, state: State) -> None:
    """``%m[%i + 1] : memref<..>``."""
    memref, indices = _parse_element(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    state.operands = [r.resolve(memref, ty), *indices]
    state.result_types = [element_type(ty)]


def parse_store(r: Reader, state: State) -> None:
    """``%v, %m[%i + 1] : memref<..>``."""
    value = r.use()
    r.expect(",")
    memref, indices = _parse_element(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    stored = r.resolve(value, element_type(ty))
    state.operands = [stored, r.resolve(memref, ty), *indices]


def parse_vector_load(r: Reader, state: State) -> None:
    """``%m[%i] : memref<..>, vector<..>``."""
    memref, indices = _parse_element(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    r.expect(",")
    state.operands = [r.resolve(memref, ty), *indices]
    state.result_types = [r.type()]


def parse_vector_store(r: Reader, state: State) -> None:
    """``%v, %m[%i] : memref<..>, vector<..>``."""
    value = r.use()
    r.expect(",")
    memref, indices = _parse_element(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    ty = r.type()
    r.expect(",")
    vector = r.type()
    state.operands = [r.resolve(value, vector), r.resolve(memref, ty), *indices]


def _element(
    w: Writer, memref: Value, map_: AffineMap, operands: tuple[Value, ...]
) -> str:
    return f"{w.name(memref)}[{subscripts_text(w, map_, operands)}]"


def print_load(w: Writer, o: Operation) -> None:
    """``%m[%i + 1] : memref<..>``."""
    load = view.Load(o)
    w.write(f" {_element(w, load.memref, load.map, load.map_operands)}")
    w.attr_dict(o, ("map",))
    w.write(f" : {load.memref.type}")


def print_store(w: Writer, o: Operation) -> None:
    """``%v, %m[%i + 1] : memref<..>``."""
    store = view.Store(o)
    element = _element(w, store.memref, store.map, store.map_operands)
    w.write(f" {w.name(store.value)}, {element}")
    w.attr_dict(o, ("map",))
    w.write(f" : {store.memref.type}")


def print_vector_load(w: Writer, o: Operation) -> None:
    """``%m[%i] : memref<..>, vector<..>``."""
    print_load(w, o)
    w.write(f", {o.results[0].type}")


def print_vector_store(w: Writer, o: Operation) -> None:
    """``%v, %m[%i] : memref<..>, vector<..>``."""
    print_store(w, o)
    w.write(f", {o.operands[0].type}")


def parse_prefetch(r: Reader, state: State) -> None:
    """``%m[%i], read, locality<3>, data : memref<..>``."""
    memref, indices = _parse_element(r, state)
    parse_prefetch_flags(r, state)
    state.attributes |= r.attr_dict()
    r.expect(":")
    state.operands = [r.resolve(memref, r.type()), *indices]


def print_prefetch(w: Writer, o: Operation) -> None:
    """``%m[%i], read, locality<3>, data : memref<..>``."""
    load = view.Load(o)
    element = _element(w, load.memref, load.map, load.map_operands)
    w.write(f" {element}{prefetch_flags(o)}")
    w.attr_dict(o, ("map", "isWrite", "localityHint", "isDataCache"))
    w.write(f" : {load.memref.type}")


# -- transfers -------------------------------------------------------------------------

_MAPS = ("src_map", "dst_map", "tag_map")


def parse_dma_start(r: Reader, state: State) -> None:
    """``%src[..], %dst[..], %tag[..], %n (, %stride, %per_stride)? : types``."""
    ends: list[tuple[Use, list[Value]]] = []
    for name in _MAPS:
        memref = r.use()
        map_, indices = r.subscripts("[", "]")
        state.attributes[name] = AffineMapAttr(map_)
        ends.append((memref, indices))
        r.expect(",")
    sizes = r.separated(lambda: r.resolve(r.use(), INDEX))
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    types = r.types()
    if len(types) != 3 or len(sizes) not in (1, 3):
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem="needs three memref types, and a stride with elements per stride",
            hint="Write ... : source type, destination type, tag type",
        )
    for (memref, indices), ty in zip(ends, types, strict=True):
        state.operands += [r.resolve(memref, ty), *indices]
    state.operands += sizes


def print_dma_start(w: Writer, o: Operation) -> None:
    """``%src[..], %dst[..], %tag[..], %n : types``."""
    dma = view.DmaStart(o)
    ends = [_element(w, e.memref, e.map, e.map_operands) for e in dma.ends]
    w.write(f" {', '.join([*ends, *map(w.name, dma.sizes)])}")
    w.attr_dict(o, _MAPS)
    w.write(f" : {', '.join(str(e.memref.type) for e in dma.ends)}")


def parse_dma_wait(r: Reader, state: State) -> None:
    """``%tag[..], %n : memref<..>``."""
    memref = r.use()
    map_, indices = r.subscripts("[", "]")
    r.expect(",")
    count = r.resolve(r.use(), INDEX)
    state.attributes["tag_map"] = AffineMapAttr(map_)
    state.attributes |= r.attr_dict()
    r.expect(":")
    state.operands = [r.resolve(memref, r.type()), *indices, count]


def print_dma_wait(w: Writer, o: Operation) -> None:
    """``%tag[..], %n : memref<..>``."""
    dma = view.DmaWait(o)
    tag = dma.tag
    element = _element(w, tag.memref, tag.map, tag.map_operands)
    w.write(f" {element}, {w.name(dma.num_elements)}")
    w.attr_dict(o, ("tag_map",))
    w.write(f" : {tag.memref.type}")
