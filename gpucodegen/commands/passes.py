"""``gpucodegen passes``: lists the passes of ``gpucodegen opt -p`` and options."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Iterator
from dataclasses import MISSING, fields

from gpucodegen.commands.inputs import add_json_option


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", help="only this pass, in full")
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print one line for each pass and for each of its options."""
    from gpucodegen.passes.framework.pipeline_text import PASSES

    names = [options.name] if options.name else sorted(PASSES)
    records = [record(name) for name in names]
    if options.json:
        print(json.dumps(records, indent=2))
        return 0
    for found in records:
        print("\n".join(_lines(found, in_full=bool(options.name))))
    return 0


def record(name: str) -> dict[str, object]:
    """Description and options of a pass.

    Raises UnknownPass.

    >>> found = record("tile")
    >>> found["name"], found["does"]
    ('tile', 'Tile a nest from ``loop`` on; default: every outermost one.')
    """
    from gpucodegen.passes.framework.base import option_text
    from gpucodegen.passes.framework.pipeline_text import pass_class

    kind = pass_class(name)
    text = inspect.getdoc(kind) or ""
    return {
        "name": name,
        "does": " ".join(text.split("\n\n")[0].split()),
        "text": text.split("\n\n>>>")[0],
        "options": [
            {
                "name": field.name,
                "type": str(field.type),
                "default": None
                if field.default is MISSING
                else option_text(field.default),
            }
            for field in fields(kind)
        ],
    }


def _lines(found: dict[str, object], *, in_full: bool) -> Iterator[str]:
    yield f"{found['name']}: {found['does']}"
    options = found["options"]
    assert isinstance(options, list)
    for option in options:  # pyright: ignore[reportUnknownVariableType]
        yield f"    {option['name']}={option['default']}: {option['type']}"
    if in_full:
        yield f"\n{found['text']}"
