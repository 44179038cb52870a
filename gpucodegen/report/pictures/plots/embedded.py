"""Pictures of what is stored of a tuning, inside a page of HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING

from gpucodegen.report.pictures.plots import KINDS
from gpucodegen.report.pictures.svg import Element

if TYPE_CHECKING:
    from gpucodegen.compiling.stored import Stored


def tuning_pictures(stored: Sequence[Stored]) -> list[Element]:
    """The pictures that there are of some tunings; none without matplotlib."""
    if find_spec("matplotlib") is None:
        return []
    return [picture for one in stored for picture in _pictures(one)]


def _pictures(stored: Stored) -> Iterator[Element]:
    from gpucodegen.report.pictures.plots.picture import Tuned, draw, figure_of

    for kind in KINDS:
        figure, (axis,) = figure_of(1)
        title = f"{kind} of @{stored.about.get('function')}{stored.call}"
        axis.set_title(title, fontsize="small", loc="left")
        try:
            draw(axis, Tuned.of(stored), kind)
        except ValueError:
            continue
        data = BytesIO()
        figure.savefig(data, format="svg")
        source = f"data:image/svg+xml;base64,{b64encode(data.getvalue()).decode()}"
        yield Element("img", {"src": source, "alt": title})
