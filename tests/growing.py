"""Programs that grow with a number: for tests of how the work of a stage grows."""

from __future__ import annotations


def statements(count: int, size: int = 64) -> str:
    """``count`` statements in one nest, each of its own array."""
    array = f"memref<{size}x{size}xf32>"
    names = ", ".join(f"%A{n}: {array}" for n in range(count))
    body = "\n".join(
        f"      %v{n} = affine.load %X[%i, %j] : {array}\n"
        f"      %w{n} = arith.mulf %v{n}, %v{n} : f32\n"
        f"      affine.store %w{n}, %A{n}[%i, %j] : {array}"
        for n in range(count)
    )
    return f"""func.func @f(%X: {array}, {names}) {{
  affine.for %i = 0 to {size} {{
    affine.for %j = 0 to {size} {{
{body}
    }}
  }}
  return
}}"""


def operations(count: int, size: int = 64) -> str:
    """A loop whose body is a chain of ``count`` additions."""
    array = f"memref<{size}xf32>"
    body = "\n".join(
        f"    %v{n + 1} = arith.addf %v{n}, %v0 : f32" for n in range(count)
    )
    return f"""func.func @f(%X: {array}, %Y: {array}) {{
  affine.for %i = 0 to {size} {{
    %v0 = affine.load %X[%i] : {array}
{body}
    affine.store %v{count}, %Y[%i] : {array}
  }}
  return
}}"""


def chained(count: int, size: int = 64) -> str:
    """``count`` statements in one nest, each reading what the one before stored."""
    array = f"memref<{size}x{size}xf32>"
    body = "\n".join(
        f"      %v{n} = affine.load %A{n}[%i, %j] : {array}\n"
        f"      %w{n} = arith.mulf %v{n}, %v{n} : f32\n"
        f"      affine.store %w{n}, %A{n + 1}[%i, %j] : {array}"
        for n in range(count)
    )
    names = ", ".join(f"%A{n}: {array}" for n in range(count + 1))
    return f"""func.func @f({names}) {{
  affine.for %i = 0 to {size} {{
    affine.for %j = 0 to {size} {{
{body}
    }}
  }}
  return
}}"""


def nests(count: int, size: int = 64) -> str:
    """``count`` nests, each reading what the one before stored."""
    array = f"memref<{size}xf32>"
    body = "\n".join(
        f"""  affine.for %i = 0 to {size} {{
    %v = affine.load %A{n}[%i] : {array}
    %w = arith.mulf %v, %v : f32
    affine.store %w, %A{n + 1}[%i] : {array}
  }}"""
        for n in range(count)
    )
    names = ", ".join(f"%A{n}: {array}" for n in range(count + 1))
    return f"func.func @f({names}) {{\n{body}\n  return\n}}"


def vectors(width: int) -> str:
    """An addition of two vectors of ``width`` elements."""
    vector = f"vector<{width}xf32>"
    array = f"memref<{width}xf32>"
    return f"""func.func @f(%X: {array}, %Y: {array}) {{
  %c0 = arith.constant 0 : index
  %x = vector.load %X[%c0] : {array}, {vector}
  %y = arith.addf %x, %x : {vector}
  vector.store %y, %Y[%c0] : {array}, {vector}
  return
}}"""


def shared(count: int, size: int = 256) -> str:
    """``count`` statements in one nest, all of which change one array."""
    array = f"memref<{size}x{size}xf32>"
    body = "\n".join(
        f"      %v{n} = affine.load %A[%i, %j + {n}] : {array}\n"
        f"      %w{n} = arith.addf %v{n}, %v{n} : f32\n"
        f"      affine.store %w{n}, %A[%i, %j + {n + 1}] : {array}"
        for n in range(count)
    )
    return f"""func.func @f(%A: {array}) {{
  affine.for %i = 0 to {size} {{
    affine.for %j = 0 to {size - count - 1} {{
{body}
    }}
  }}
  return
}}"""
