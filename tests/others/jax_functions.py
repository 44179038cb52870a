"""Ordinary functions of JAX by the part of it that they use, with arguments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RNG = np.random.default_rng(11)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def integers(low: int, high: int, *shape: int, dtype: str = "i4") -> Any:
    return RNG.integers(low, high, size=shape).astype(dtype)


X, Y, V, W = normal(5, 6), normal(5, 6), normal(12), normal(6, 4)
N, U, BYTES = (
    integers(-9, 9, 12),
    integers(0, 99, 12, dtype="u4"),
    integers(0, 256, 12, dtype="u1"),
)
TIES, PLACES, LABELS = (
    integers(0, 4, 12).astype("f4"),
    integers(0, 12, 5),
    integers(0, 6, 5),
)
IMAGE, KERNEL = normal(2, 8, 9, 3), normal(3, 3, 3, 4)
LAYERS = (normal(6, 8), normal(8), normal(8, 3), normal(3))
KEY = np.array([0, 42], np.uint32)

Case = tuple[Any, tuple[Any, ...]]


# -- whole programs --------------------------------------------------------------------


def network(layers: Any, x: Any) -> Any:
    w, b, v, c = layers
    return jax.nn.gelu(x @ w + b) @ v + c


def cross_entropy(layers: Any, x: Any, labels: Any) -> Any:
    chances = jax.nn.log_softmax(network(layers, x))
    return -jnp.take_along_axis(chances, labels[:, None], 1).mean()


def step(layers: Any, x: Any, labels: Any) -> Any:
    loss, slopes = jax.value_and_grad(cross_entropy)(layers, x, labels)
    return loss, jax.tree.map(lambda p, g: p - 0.1 * g, layers, slopes)


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def conv_layer(x: Any, k: Any) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=layout)
    return jax.nn.relu(y).sum()


def batch_norm(x: Any) -> Any:
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(var + 1e-5)


def recurrent(w: Any, xs: Any) -> Any:
    def cell(h: Any, x: Any) -> Any:
        h = jnp.tanh(x + h @ w)
        return h, h.sum()

    return lax.scan(cell, jnp.zeros(4), xs)


def newton(x: Any) -> Any:
    def better(state: Any) -> Any:
        guess, count = state
        return 0.5 * (guess + x / guess), count + 1

    def far(state: Any) -> Any:
        guess, count = state
        return (jnp.abs(guess * guess - x).max() > 1e-3) & (count < 30)

    return lax.while_loop(far, better, (jnp.ones_like(x), 0))


def rotary(x: Any) -> Any:
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[0])[:, None] * 0.1 ** jnp.arange(half)
    a, b = jnp.split(x, 2, -1)
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([a * c - b * s, a * s + b * c], -1)


def fibonacci(n: Any) -> Any:
    return lax.fori_loop(0, n, lambda _, ab: (ab[1], ab[0] + ab[1]), (0, 1))


def triangle(x: Any) -> Any:
    return lax.fori_loop(0, 5, lambda i, t: t.at[i].add(t[i - 1] * x[i]), x)


# -- parts of the library --------------------------------------------------------------

PLACED: dict[str, Case] = {
    "set_at": (lambda x, i: x.at[i].set(7.0), (V, integers(0, 12, 1))),
    "add_at": (lambda x, i: x.at[i].add(1.5), (V, PLACES)),
    "max_at": (lambda x, i: x.at[i].max(0.25), (V, PLACES)),
    "min_at": (lambda x, i: x.at[i].min(0.25), (V, PLACES)),
    "multiply_at": (lambda x, i: x.at[i].multiply(2.0), (V, PLACES)),
    "add_rows": (lambda x, i, y: x.at[i].add(y), (X, LABELS % 5, Y)),
    "set_block": (lambda x, y: x.at[1:3, 2:4].set(y), (X, normal(2, 2))),
    "set_column": (lambda x: x.at[:, 1].set(0.0), (X,)),
    "set_diagonal": (lambda x: x.at[jnp.arange(5), jnp.arange(5)].set(1), (X,)),
    "dropped": (lambda x, i: x.at[i].add(1.0, mode="drop"), (V, PLACES + 5)),
    "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 4), (V, N % 4)),
    "bincount": (lambda x: jnp.bincount(x, length=10), (abs(N),)),
    "histogram": (lambda x: jnp.histogram(x, bins=5, range=(-2, 2))[0], (V,)),
    "embedding_slope": (
        lambda t, i: jax.grad(lambda u: (u[i] ** 2).sum())(t),
        (X, LABELS % 5),
    ),
}
ORDERED: dict[str, Case] = {
    "sort": (jnp.sort, (V,)),
    "sort_rows": (lambda x: jnp.sort(x, 0), (X,)),
    "sort_down": (lambda x: jnp.sort(x, descending=True), (N,)),
    "argsort": (jnp.argsort, (TIES,)),
    "argsort_rows": (lambda x: jnp.argsort(x, 1), (X,)),
    "lexsort": (lambda x, y: jnp.lexsort((y, x)), (TIES, V)),
    "top_k": (lambda x: lax.top_k(x, 3), (X,)),
    "median": (jnp.median, (V,)),
    "quantile": (lambda x: jnp.quantile(x, 0.3), (V,)),
    "searchsorted": (lambda x, y: jnp.searchsorted(jnp.sort(x), y), (V, X[0])),
    "unique": (lambda x: jnp.unique(x, size=4), (TIES,)),
    "sort_bytes": (jnp.sort, (BYTES,)),
}
SUMMED: dict[str, Case] = {
    "cumsum": (lambda x: jnp.cumsum(x, 1), (X,)),
    "cumprod": (jnp.cumprod, (V,)),
    "cummax": (lax.cummax, (V,)),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, 1), (X,)),
    "argmin": (lambda x: jnp.argmin(x, 0), (X,)),
    "variance": (lambda x: (x.std(0), x.var()), (X,)),
    "any_all": (lambda x: ((x > 2).any(1), (x > -9).all()), (X,)),
    "nan_max": (jnp.nanmax, (np.where(V > 1, np.nan, V).astype("f4"),)),
    "associative_scan": (lambda x: lax.associative_scan(jnp.add, x), (V,)),
    "norm": (jnp.linalg.norm, (X,)),
    "trace": (jnp.trace, (X,)),
    "average_pool": (
        lambda x: lax.reduce_window(
            x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        ),
        (IMAGE,),
    ),
    "dilated_window": (
        lambda x: lax.reduce_window(
            x, -jnp.inf, lax.max, (2, 3), (1, 2), ((1, 0), (2, 1)), (2, 1), (1, 2)
        ),
        (X,),
    ),
    "pool_slope": (
        jax.grad(
            lambda x: (
                lax.reduce_window(
                    x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
                )
                ** 2
            ).sum()
        ),
        (IMAGE,),
    ),
}
MOVED: dict[str, Case] = {
    "one_hot": (lambda i: jax.nn.one_hot(i, 6), (LABELS,)),
    "take": (lambda x, i: jnp.take(x, i, 1), (X, LABELS)),
    "boolean_where": (lambda x: jnp.where(x > 0, x, 0).sum(0), (X,)),
    "triangles": (lambda x: jnp.tril(x) - jnp.triu(x, 1), (X,)),
    "repeat": (lambda x: jnp.repeat(x, 3, 0), (X,)),
    "tile": (lambda x: jnp.tile(x, (2, 1)), (X,)),
    "stack": (lambda x, y: jnp.stack([x, y], 1), (X, Y)),
    "roll": (lambda x: jnp.roll(x, (1, -2), (0, 1)), (X,)),
    "flip": (jnp.flip, (X,)),
    "pad_edge": (lambda x: jnp.pad(x, 2, mode="edge"), (X,)),
    "pad_reflect": (lambda x: jnp.pad(x, 1, mode="reflect"), (X,)),
    "meshgrid": (lambda x: sum(jnp.meshgrid(x, x)), (V,)),
    "interp": (lambda x: jnp.interp(x, jnp.arange(12.0), jnp.arange(12.0) ** 2), (V,)),
    "slice_loop": (triangle, (V,)),
    "update_slice": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 0)),
        (X, normal(2, 3), np.int32(9)),
    ),
    "gather_batched": (
        jax.vmap(lambda r, j: r[j]),
        (X, LABELS[:, None]),
    ),
    "gather_windows": (
        lambda x, i: jax.vmap(lambda j: lax.dynamic_slice(x, (j,), (3,)))(i),
        (V, PLACES),
    ),
}
NETS: dict[str, Case] = {
    "activations": (
        lambda x: sum(
            f(x)
            for f in (
                jax.nn.silu,
                jax.nn.elu,
                jax.nn.selu,
                jax.nn.softplus,
                jax.nn.relu6,
                jax.nn.leaky_relu,
                jax.nn.hard_swish,
                jax.nn.celu,
                jax.nn.mish,
            )
        ),
        (X,),
    ),
    "gelu": (lambda x: jax.nn.gelu(x, approximate=False), (X,)),
    "glu": (jax.nn.glu, (X,)),
    "standardize": (jax.nn.standardize, (X,)),
    "network": (network, (LAYERS, X)),
    "cross_entropy": (cross_entropy, (LAYERS, X, LABELS % 3)),
    "training_step": (step, (LAYERS, X, LABELS % 3)),
    "attention": (causal_attention, (normal(2, 5, 3, 4),) * 3),
    "library_attention": (jax.nn.dot_product_attention, (normal(2, 5, 3, 4),) * 3),
    "conv_slopes": (jax.grad(conv_layer, (0, 1)), (IMAGE, KERNEL)),
    "batch_norm": (batch_norm, (IMAGE,)),
    "rotary": (rotary, (X,)),
    "second_slopes": (jax.hessian(lambda x: (jnp.tanh(x) ** 2).sum()), (V,)),
    "jacobian": (jax.jacfwd(lambda x: jnp.outer(x, x).sum(0)), (V,)),
    "vmapped": (jax.vmap(lambda a, b: a @ b, (0, None)), (X, W)),
    "einsum": (lambda x, y: jnp.einsum("ij,kj->ik", x, y), (X, Y)),
    "kron": (jnp.kron, (W, normal(2, 2))),
    "convolve": (lambda x, y: jnp.convolve(x, y, "same"), (V, normal(3))),
    "polyval": (jnp.polyval, (normal(4), V)),
    "matrix_power": (lambda x: jnp.linalg.matrix_power(x[:, :5], 5), (X,)),
}
LOOPS: dict[str, Case] = {
    "recurrent": (recurrent, (normal(4, 4), normal(6, 4))),
    "recurrent_slope": (
        jax.grad(lambda w, x: recurrent(w, x)[1].sum()),
        (normal(4, 4), normal(6, 4)),
    ),
    "newton": (newton, (abs(V) + 1,)),
    "fibonacci": (fibonacci, (np.int32(20),)),
    "cond": (
        lambda p, x: lax.cond(p > 1, jnp.sin, lambda y: y * 2, x),
        (np.float32(2), V),
    ),
    "switch": (
        lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.negative, jnp.exp], x),
        (np.int32(2), V),
    ),
    "map": (lambda x: lax.map(lambda r: (r * r).sum(), x), (X,)),
}
DRAWN: dict[str, Case] = {
    "uniform": (lambda k: jax.random.uniform(k, (7,)), (KEY,)),
    "normal": (lambda k: jax.random.normal(k, (3, 4)), (KEY,)),
    "bits": (lambda k: jax.random.bits(k, (5,)), (KEY,)),
    "randint": (lambda k: jax.random.randint(k, (6,), 3, 30), (KEY,)),
    "split": (lambda k: jax.random.split(k, 3), (KEY,)),
    "permutation": (lambda k: jax.random.permutation(k, 9), (KEY,)),
    "categorical": (jax.random.categorical, (KEY, X)),
    "bernoulli": (lambda k: jax.random.bernoulli(k, 0.3, (9,)), (KEY,)),
    "dropout": (
        lambda k, x: jnp.where(jax.random.bernoulli(k, 0.8, x.shape), x / 0.8, 0),
        (KEY, X),
    ),
}
NUMBERS: dict[str, Case] = {
    "unsigned": (lambda x: (x * 3, x // 5, x >> 1, ~x), (U,)),
    "bytes": (lambda x: (x + x, x % 7, x.astype("i4")), (BYTES,)),
    "integer_division": (lambda x: (x // 4, x % 4, jnp.fmod(x, 4)), (N,)),
    "powers": (lambda x: (x**3, jnp.power(2.0, x), x**-1.5), (abs(V) + 0.5,)),
    "bit_view": (lambda x: lax.bitcast_convert_type(x, jnp.uint32), (V,)),
    "bit_bytes": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), (V,)),
    "bits_counted": (lambda x: (lax.population_count(x), lax.clz(x)), (U,)),
    "special": (
        lambda x: (jnp.sinc(x), jnp.logaddexp(x, 1), jnp.hypot(x, 2), jnp.cbrt(x)),
        (V,),
    ),
    "error_functions": (
        lambda x: (lax.erf(x), lax.erfc(x), lax.erf_inv(jnp.tanh(x))),
        (V,),
    ),
    "gamma": (lambda x: (lax.lgamma(x), lax.digamma(x)), (abs(V) + 0.5,)),
    "nextafter": (lambda x: jnp.nextafter(x, 10.0), (V,)),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 5, 4), (V,)),
    "complex": (lambda x, y: jnp.abs(jnp.exp(lax.complex(x, y))), (X, Y)),
    "halves": (lambda x: (x.astype("f2") * 2).astype("f4"), (X,)),
    "rounded": (lambda x: (jnp.round(x, 1), jnp.trunc(x), jnp.floor(x)), (X,)),
    "isclose": (lambda x, y: jnp.isclose(x, y, atol=1.0), (X, Y)),
}


# -- regions with constants and calls --------------------------------------------------


def noisy_loop(x: Any) -> Any:
    def body(_: Any, carried: Any) -> Any:
        key, x = carried
        key, used = jax.random.split(key)
        return key, x + jax.random.normal(used, x.shape)

    return lax.fori_loop(0, 3, body, (KEY, x))[1]


def noisy_scan(x: Any) -> Any:
    def step(x: Any, key: Any) -> Any:
        return x + jax.random.uniform(key, x.shape), x.sum()

    return lax.scan(step, x, jax.random.split(KEY, 4))


def noisy_while(x: Any) -> Any:
    def step(state: Any) -> Any:
        n, key, x = state
        used = jax.random.fold_in(key, n)
        return n + 1, key, x + jax.random.normal(used, x.shape)

    return lax.while_loop(lambda state: state[0] < 3, step, (0, KEY, x))[2]


def noisy_branch(x: Any) -> Any:
    drawn = lambda x: x + jax.random.normal(KEY, x.shape)  # noqa: E731
    return lax.cond(x[0] > 0, drawn, lambda x: x * jnp.arange(12.0), x)


def recurrent_slope(w: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        def step(h: Any, _: Any) -> Any:
            h = jnp.tanh(w @ h)
            return h, h

        return (lax.scan(step, x, None, length=4)[1] ** 2).sum()

    return jax.grad(loss)(w)


def reduced(combine: Any) -> Any:
    return lambda x: lax.reduce(x, np.float32(0), combine, (1,))


REGIONS: dict[str, Case] = {
    "noisy_loop": (noisy_loop, (V,)),
    "noisy_scan": (noisy_scan, (V,)),
    "noisy_while": (noisy_while, (V,)),
    "noisy_branch": (noisy_branch, (V,)),
    "recurrent_slope": (recurrent_slope, (X[:, :5], X[0, :5])),
    "rolled_by_nothing": (lambda x: (jnp.roll(x, 0, 0), jnp.roll(x, 3, 0)), (X,)),
    "associative_scan": (lambda x: lax.associative_scan(jnp.add, x), (X,)),
    "reduce_where": (reduced(lambda a, b: jnp.where(b > 0, a + b, a)), (X,)),
    "reduce_clip": (reduced(lambda a, b: jnp.clip(a + b, -2, 2)), (X,)),
    "complex_sums": (
        lambda x, y: (lax.complex(x, y).sum(0), jnp.cumsum(lax.complex(x, y), 1)),
        (X, Y),
    ),
    "real_to_complex": (
        lambda x: (x.astype("c8") * 1j, (x * 3).astype(int) + 0j),
        (X,),
    ),
    "depthwise_slope": (
        jax.grad(lambda x, w: (depthwise(x, w) ** 2).sum(), (0, 1)),
        (normal(2, 5, 6, 4), normal(3, 3, 1, 4)),
    ),
    "composite": (
        lambda x: lax.composite(
            lambda x, scale: jnp.where(x > 0, x, scale * x), name="own.leaky"
        )(x, scale=0.1),
        (X,),
    ),
    "narrow_floats": (lambda x: (x * 2 + 1, x.sum(0)), (X.astype(jnp.bfloat16),)),
}


def depthwise(x: Any, w: Any) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=4
    )


# -- library calls ---------------------------------------------------------------------

SQUARE = normal(5, 5)
POSITIVE = SQUARE @ SQUARE.T + 5 * np.eye(5, dtype="f4")
BATCH = np.stack([POSITIVE, 2 * POSITIVE + 1])
COMPLEX = (SQUARE + 1j * normal(5, 5)).astype("c8")
solve = jax.scipy.linalg.solve_triangular
FACTORED: dict[str, Case] = {
    "cholesky": (
        lambda a: (jnp.linalg.cholesky(a), jnp.linalg.cholesky(a, upper=True)),
        (BATCH,),
    ),
    "solve": (lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a)), (BATCH, X[:5])),
    "determinant": (jnp.linalg.slogdet, (BATCH,)),
    "lu": (jax.scipy.linalg.lu, (SQUARE,)),
    "triangular": (
        lambda a, b: (
            solve(a, b),
            solve(a, b, lower=True, trans=1),
            solve(a, b, lower=True, unit_diagonal=True),
            lax.linalg.triangular_solve(a, b.T, left_side=False, lower=True),
        ),
        (POSITIVE, X[:, :4]),
    ),
    "qr": (lambda a: (jnp.linalg.qr(a), jax.scipy.linalg.qr(a, pivoting=True)), (X.T,)),
    "eigh": (jnp.linalg.eigh, (BATCH,)),
    "eig": (jnp.linalg.eig, (SQUARE,)),
    "schur": (
        lambda a: (jax.scipy.linalg.schur(a), jax.scipy.linalg.hessenberg(a)),
        (SQUARE,),
    ),
    "svd": (
        lambda a: (
            jnp.linalg.svd(a),
            jnp.linalg.svd(a, full_matrices=False),
            jnp.linalg.svd(a, compute_uv=False),
            jnp.linalg.matrix_rank(a.T),
        ),
        (X,),
    ),
    "least_squares": (lambda a, b: jnp.linalg.lstsq(a, b)[0], (X.T, X[0])),
    "complex_factors": (
        lambda a: (jnp.linalg.qr(a), jnp.linalg.inv(a), jnp.linalg.eigvals(a)),
        (COMPLEX,),
    ),
    "tridiagonal": (
        lax.linalg.tridiagonal_solve,
        (V[:5], V[:5] + 9, V[5:10], X[:5]),
    ),
    "factor_in_a_loop": (
        lambda a: lax.fori_loop(
            0, 3, lambda _, a: jnp.linalg.cholesky(a @ a.T + jnp.eye(5)), a
        ),
        (POSITIVE,),
    ),
    "factor_slopes": (
        jax.grad(lambda a: jnp.linalg.slogdet(a)[1] + solve(a, a[0]).sum()),
        (POSITIVE,),
    ),
}


def heat(u: Any) -> Any:
    waves = jnp.exp(-(jnp.fft.fftfreq(12) ** 2))
    step = lambda u, _: (jnp.fft.ifft(jnp.fft.fft(u) * waves).real, None)  # noqa: E731
    return lax.scan(step, u, None, length=4)[0]


TRANSFORMED: dict[str, Case] = {
    "fft": (lambda x: (jnp.fft.fft(x), jnp.fft.fft(x, axis=0), jnp.fft.fft2(x)), (X,)),
    "real_fft": (
        lambda x: (jnp.fft.rfft(x), jnp.fft.irfft2(jnp.fft.rfft2(x)), jnp.fft.hfft(x)),
        (X,),
    ),
    "fft_slope": (jax.grad(lambda x: jnp.abs(jnp.fft.fft(x)).sum()), (V,)),
    "fft_in_a_loop": (heat, (V,)),
    "fft_convolution": (jax.scipy.signal.fftconvolve, (V, V[:5])),
}
special = jax.scipy.special
CHANNELS = ("NHWC", "HWIO", "NHWC")
FUNCTIONS: dict[str, Case] = {
    "zeta": (lambda x: special.zeta(x + 1.1, x), (abs(V) + 0.1,)),
    "polygamma": (
        lambda x: (special.polygamma(1, x), special.polygamma(2, x)),
        (abs(V) + 0.5,),
    ),
    "bessel": (lambda x: (special.i1(x), special.i1e(9 * x), special.i0(x)), (V,)),
    "complex_functions": (
        lambda z: tuple(f(z) for f in (jnp.sinh, jnp.cosh, jnp.tan, jnp.sign)),
        (COMPLEX,),
    ),
    "complex_inverses": (
        lambda z: (
            jnp.arcsin(z),
            jnp.arccos(z),
            jnp.arctan(z),
            jnp.arcsinh(z),
            jnp.arccosh(z),
            jnp.arctanh(z),
            z**2,
        ),
        (COMPLEX,),
    ),
    "products_of_halves": (
        lambda a, b: a @ b,
        (normal(5, 99).astype("f2"), normal(99, 4).astype("f2")),
    ),
    "convolution_of_halves": (
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=CHANNELS
        ),
        (IMAGE.astype("f2"), KERNEL.astype("f2")),
    ),
}
CASES = {
    **PLACED, **ORDERED, **SUMMED, **MOVED, **NETS, **LOOPS, **DRAWN, **NUMBERS,
    **REGIONS, **FACTORED, **TRANSFORMED, **FUNCTIONS,
}  # fmt: skip
