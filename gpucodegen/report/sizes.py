"""Parameter sizes for reports: ``N=8,M=6``, or one number for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from gpucodegen import errors
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Values by name of parameter; ``every`` is that of all others.

    A loop bound or extent has several names: that of the program (``%N``) and that of
    the analysis (``A_size0``); either may be given.

    >>> sizes = parse_sizes("N=6, 9")
    >>> sizes.of(("N", "A_size0"), otherwise=8), sizes.of(("M",), otherwise=8)
    (6, 9)
    """

    given: Mapping[str, int] = field(default_factory=dict[str, int])
    every: int | None = None

    def of(self, names: Iterable[str], otherwise: int) -> int:
        """The value for any of these names."""
        found = [self.given[name] for name in names if name in self.given]
        fallback = otherwise if self.every is None else self.every
        return found[0] if found else fallback

    def check(self, known: Iterable[str]) -> None:
        """Raises an error for unknown names."""
        names = sorted(set(known))
        for name in self.given:
            if name not in names:
                otherwise = f"Known names: {errors.one_of(names) or 'none'}"
                hint = errors.did_you_mean(name, names, otherwise).rstrip("?")
                raise _refused(f"{name}={self.given[name]}", hint)


def parse_sizes(text: str) -> Sizes:
    """Reads comma-separated ``name=value`` pairs; a lone number is for all others.

    Raises InvalidOption.
    """
    given: dict[str, int] = {}
    every: int | None = None
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, is_pair, value = part.partition("=")
        if not is_pair:
            every = _count(part, part)
        else:
            given[name.strip().lstrip("%")] = _count(value, part)
    return Sizes(given, every)


def make_sizes(sizes: Sizes | Mapping[str, int] | int | str | None) -> Sizes:
    """Sizes from any of the accepted forms."""
    match sizes:
        case Sizes():
            return sizes
        case None:
            return Sizes()
        case int():
            return Sizes(every=_count(str(sizes), str(sizes)))
        case str():
            return parse_sizes(sizes)
        case _:
            return parse_sizes(",".join(f"{k}={v}" for k, v in sizes.items()))


LARGEST = 1 << 24


def _count(value: str, part: str) -> int:
    text = value.strip()
    if not text.isascii() or not text.isdigit() or int(text[:12]) > LARGEST:
        raise _refused(part, f"Write N=8 with a number from 0 to {LARGEST}")
    return int(text)


def _refused(value: str, hint: str) -> errors.InvalidOption:
    return errors.InvalidOption(name="sizes", value=value, hint=hint)
