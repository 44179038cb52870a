"""The named structured operations of linalg, as one table.

An entry gives the loops and, per operand, its indices over them, in the manner of
``einsum``; ``y:h`` stands for a window, ``y * stride + h * dilation``.  Loops that do
not index the output are reductions.  From an entry follow the indexing maps, the
iterator types and the scalar body, hence the equivalent ``linalg.generic``.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects.linalg import Structured
from gpucodegen.dialects.linalg_bodies import ELEMENTWISE, SELECTORS, Scalar
from gpucodegen.dialects.linalg_bodies import scalar_body as build_body
from gpucodegen.ir.affine import AffineExpr, AffineMap, Dim
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr, DenseElementsAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType, TensorType, VectorType

PARALLEL, REDUCTION = "parallel", "reduction"


@dataclass(frozen=True, slots=True)
class Named:
    """``loops``, the indices of the inputs, those of the output, and the body's name.

    >>> NAMED["matmul"].inputs
    ('m k', 'k n')
    """

    loops: str
    inputs: tuple[str, ...]
    output: str
    body: str = "multiply_add"


def _conv(loops: str, image: str, kernel: str, output: str) -> Named:
    return Named(loops, (image, kernel), output)


def _pool(loops: str, image: str, window: str, output: str, body: str) -> Named:
    return Named(loops, (image, window), output, body)


NAMED: dict[str, Named] = {
    "matmul": Named("m n k", ("m k", "k n"), "m n"),
    "matmul_transpose_a": Named("m n k", ("k m", "k n"), "m n"),
    "matmul_transpose_b": Named("m n k", ("m k", "n k"), "m n"),
    "batch_matmul": Named("b m n k", ("b m k", "b k n"), "b m n"),
    "batch_matmul_transpose_a": Named("b m n k", ("b k m", "b k n"), "b m n"),
    "batch_matmul_transpose_b": Named("b m n k", ("b m k", "b n k"), "b m n"),
    "batch_reduce_matmul": Named("b m n k", ("b m k", "b k n"), "m n"),
    "matvec": Named("m n", ("m n", "n"), "m"),
    "vecmat": Named("n m", ("m", "m n"), "n"),
    "batch_matvec": Named("b m k", ("b m k", "b k"), "b m"),
    "batch_vecmat": Named("b n k", ("b k", "b k n"), "b n"),
    "dot": Named("m", ("m", "m"), ""),
    "mmt4d": Named("m n k i j l", ("m k i l", "n k j l"), "m n i j"),
    "batch_mmt4d": Named("b m n k i j l", ("b m k i l", "b n k j l"), "b m n i j"),
    "conv_1d": _conv("x w", "x+w", "w", "x"),
    "conv_2d": _conv("y x h w", "y+h x+w", "h w", "y x"),
    "conv_3d": _conv("z y x d h w", "z+d y+h x+w", "d h w", "z y x"),
    "conv_1d_nwc_wcf": _conv("n x f w c", "n x:w c", "w c f", "n x f"),
    "conv_1d_ncw_fcw": _conv("n f x c w", "n c x:w", "f c w", "n f x"),
    "conv_2d_nhwc_hwcf": _conv("n y x f h w c", "n y:h x:w c", "h w c f", "n y x f"),
    "conv_2d_nhwc_fhwc": _conv("n y x f h w c", "n y:h x:w c", "f h w c", "n y x f"),
    "conv_2d_nchw_fchw": _conv("n f y x c h w", "n c y:h x:w", "f c h w", "n f y x"),
    "conv_2d_ngchw_fgchw": _conv(
        "n g f y x c h w", "n g c y:h x:w", "f g c h w", "n g f y x"
    ),
    "conv_2d_ngchw_gfchw": _conv(
        "n g f y x c h w", "n g c y:h x:w", "g f c h w", "n g f y x"
    ),
    "conv_2d_nhwgc_gfhwc": _conv(
        "n y x g f h w c", "n y:h x:w g c", "g f h w c", "n y x g f"
    ),
    "conv_3d_ndhwc_dhwcf": _conv(
        "n z y x f d h w c", "n z:d y:h x:w c", "d h w c f", "n z y x f"
    ),
    "conv_3d_ncdhw_fcdhw": _conv(
        "n f z y x c d h w", "n c z:d y:h x:w", "f c d h w", "n f z y x"
    ),
    "depthwise_conv_1d_nwc_wc": _conv("n x c w", "n x:w c", "w c", "n x c"),
    "depthwise_conv_1d_ncw_cw": _conv("n x c w", "n c x:w", "c w", "n c x"),
    "depthwise_conv_1d_nwc_wcm": _conv("n x c m w", "n x:w c", "w c m", "n x c m"),
    "depthwise_conv_2d_nhwc_hwc": _conv(
        "n y x c h w", "n y:h x:w c", "h w c", "n y x c"
    ),
    "depthwise_conv_2d_nchw_chw": _conv(
        "n y x c h w", "n c y:h x:w", "c h w", "n c y x"
    ),
    "depthwise_conv_2d_nhwc_hwcm": _conv(
        "n y x c m h w", "n y:h x:w c", "h w c m", "n y x c m"
    ),
    "depthwise_conv_3d_ndhwc_dhwc": _conv(
        "n z y x d h w c", "n z:d y:h x:w c", "d h w c", "n z y x c"
    ),
    "depthwise_conv_3d_ncdhw_cdhw": _conv(
        "n z y x d h w c", "n c z:d y:h x:w", "c d h w", "n c z y x"
    ),
    "depthwise_conv_3d_ndhwc_dhwcm": _conv(
        "n z y x m d h w c", "n z:d y:h x:w c", "d h w c m", "n z y x c m"
    ),
    **{
        f"pooling_nhwc_{name}": _pool(
            "n y x c h w", "n y:h x:w c", "h w", "n y x c", body
        )
        for name, body in SELECTORS.items()
    },
    **{
        f"pooling_nchw_{name}": _pool(
            "n c y x h w", "n c y:h x:w", "h w", "n c y x", body
        )
        for name, body in SELECTORS.items()
        if name in ("sum", "max")
    },
    **{
        f"pooling_nwc_{name}": _pool("n x c w", "n x:w c", "w", "n x c", body)
        for name, body in SELECTORS.items()
    },
    **{
        f"pooling_ncw_{name}": _pool("n c x w", "n c x:w", "w", "n c x", body)
        for name, body in SELECTORS.items()
        if name in ("sum", "max")
    },
    **{
        f"pooling_ndhwc_{name}": _pool(
            "n z y x c d h w", "n z:d y:h x:w c", "d h w", "n z y x c", body
        )
        for name, body in SELECTORS.items()
        if name in ("sum", "max", "min")
    },
}

IS_POINTWISE = frozenset(["fill", "copy", *ELEMENTWISE])
"""Operations of any rank: every operand is indexed by all loops, or is a scalar."""


def base_name(op: Operation) -> str:
    """Name without the dialect."""
    return op.name.partition(".")[2]


def is_structured(op: Operation) -> bool:
    """Whether this table, or the operation itself, gives maps and a scalar body."""
    name = base_name(op)
    known = name in NAMED or name in IS_POINTWISE or name == "generic"
    return op.dialect == "linalg" and known


def rank_of(op: Operation) -> int:
    """Rank of the output."""
    ty = Structured(op).outputs[0].type
    is_shaped = isinstance(ty, MemRefType | TensorType | VectorType)
    return len(ty.shape) if is_shaped else 0


def indexing_maps(op: Operation) -> tuple[AffineMap, ...]:
    """One map per operand, inputs first."""
    written = op.attributes.get("indexing_maps")
    if isinstance(written, ArrayAttr):
        return tuple(m.map for m in written.values if isinstance(m, AffineMapAttr))
    name = base_name(op)
    if name in IS_POINTWISE:
        return _pointwise_maps(op)
    entry = NAMED[name]
    windows = _Windows(_numbers(op, "strides"), _numbers(op, "dilations"))
    operands = (*entry.inputs, entry.output)
    return tuple(_map(entry.loops.split(), text, windows) for text in operands)


def iterator_types(op: Operation) -> tuple[str, ...]:
    """``parallel`` or ``reduction`` per loop."""
    if op.name == "linalg.generic":
        return Structured(op).iterator_types
    name = base_name(op)
    if name in IS_POINTWISE:
        return (PARALLEL,) * rank_of(op)
    entry = NAMED[name]
    kept = entry.output.split()
    return tuple(PARALLEL if d in kept else REDUCTION for d in entry.loops.split())


def scalar_body(op: Operation) -> Scalar:
    """Arguments and operations of the scalar computation, the yield included."""
    name = base_name(op)
    kind = name if name in IS_POINTWISE else NAMED[name].body
    structured = Structured(op)
    return build_body(kind, op, structured.inputs, structured.outputs)


def generalized(op: Operation) -> Operation:
    """The equivalent ``linalg.generic`` of a named operation."""
    from gpucodegen.dialects import linalg

    body = scalar_body(op)
    structured = Structured(op)
    generic = linalg.generic(
        structured.inputs,
        structured.outputs,
        indexing_maps(op),
        iterator_types(op),
        body.arguments,
        body.operations,
        location=op.location,
    )
    return generic.with_(results=op.results)


# -- maps ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Windows:
    """Strides and dilations, handed out in the order of the windows."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    used: int = 0

    def index(self, point: AffineExpr, tap: AffineExpr) -> AffineExpr:
        """``point * stride + tap * dilation`` of the next window."""
        stride, dilation = (
            values[self.used] if self.used < len(values) else 1
            for values in (self.strides, self.dilations)
        )
        self.used += 1
        return point * stride + tap * dilation


def _map(loops: list[str], text: str, windows: _Windows) -> AffineMap:
    dims = {name: Dim(i) for i, name in enumerate(loops)}
    results: list[AffineExpr] = []
    for index in text.split():
        if ":" in index:
            point, _, tap = index.partition(":")
            results.append(windows.index(dims[point], dims[tap]))
        elif "+" in index:
            point, _, tap = index.partition("+")
            results.append(dims[point] + dims[tap])
        else:
            results.append(dims[index])
    return AffineMap(len(loops), 0, tuple(results))


def _numbers(op: Operation, name: str) -> tuple[int, ...]:
    value = op.attributes.get(name)
    if not isinstance(value, DenseElementsAttr):
        return ()
    shape = getattr(value.type, "shape", (1,))
    values = value.values * shape[0] if value.is_splat else value.values
    return tuple(int(str(v)) for v in values)


def _pointwise_maps(op: Operation) -> tuple[AffineMap, ...]:
    rank = rank_of(op)
    structured = Structured(op)
    maps: list[AffineMap] = []
    for value in (*structured.inputs, *structured.outputs):
        is_shaped = isinstance(value.type, MemRefType | TensorType)
        maps.append(AffineMap.identity(rank) if is_shaped else AffineMap(rank, 0, ()))
    return tuple(maps)
