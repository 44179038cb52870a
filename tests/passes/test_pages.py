"""docs/passes.md and docs/transformations.md say what the code does.

``pytest tests/passes/test_pages.py --update-golden`` writes the examples' outputs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import gpucodegen as gcg
from gpucodegen.cli import main
from gpucodegen.compiling.pipeline import all_passes
from gpucodegen.options import make_options
from gpucodegen.passes.framework.base import ModulePass, option_text
from gpucodegen.passes.framework.pipeline_text import PASSES, pass_class

DOCS = Path(__file__).parents[2] / "docs"
PIPELINES = DOCS / "passes.md"
LIBRARY = DOCS / "transformations.md"

# -- the order of the pipelines --------------------------------------------------------

VARIANTS: dict[str, dict[str, object]] = {
    "`exact`": {"exact": True},
    "`tile_sizes`": {"tile_sizes": (4,)},
    "`time_tiles=False`": {"time_tiles": False},
    "`verify=False`": {"verify": False},
    "`unchecked`": {"unchecked": True},
}
"""What the page calls an option, and the option."""


def _order(target: str, options: Mapping[str, object]) -> list[str]:
    """The passes of a pipeline, in order."""
    chosen = make_options({"target": target, **options})
    return [pass_.name for pass_ in all_passes("f", (), target, chosen)]


@cache
def _pipeline(target: str) -> list[tuple[str, str]]:
    """Each pass with what decides whether it runs, as the page says it."""
    usual = [(name, list[str]()) for name in _order(target, {})]
    for shown, options in VARIANTS.items():
        changed = _order(target, options)
        usual = _merged(usual, changed, shown)
    return [(name, ", ".join(conditions)) for name, conditions in usual]


def _merged(
    known: list[tuple[str, list[str]]], changed: Sequence[str], shown: str
) -> list[tuple[str, list[str]]]:
    """The known passes, and those that the changed order adds, each in its place."""
    rest, merged = list(changed), list[tuple[str, list[str]]]()
    names = [name for name, _ in known]
    for name, conditions in known:
        while rest and rest[0] not in names:
            merged.append((rest.pop(0), [f"with {shown}"]))
        if rest and rest[0] == name:
            rest.pop(0)
            merged.append((name, conditions))
        else:
            is_rare = any(condition.startswith("with ") for condition in conditions)
            without = [] if is_rare else [f"not with {shown}"]
            merged.append((name, [*conditions, *without]))
    assert rest == []
    return merged


def _table(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    below = page.read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    text = below.partition("\n#")[0]
    lines = text.partition("\n|---")[2].split("\n")[1:]
    rows: list[list[str]] = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def _shown(heading: str) -> list[tuple[str, str]]:
    return [(row[0].strip("`"), row[2]) for row in _table(PIPELINES, heading)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("target", "heading"),
    [
        ("cpu", "### On the CPU"),
        ("cuda", "### On a GPU"),
        ("sim", "### On a GPU"),
    ],
)
def test_the_page_shows_the_passes_in_their_order(target: str, heading: str):
    for_all = _shown("### From text to affine nests")
    own, other = ("`cpu`", "`cuda`") if target == "cpu" else ("`cuda`", "`cpu`")
    shown = [
        (name, when.removeprefix(own).removeprefix(", "))
        for name, when in for_all
        if not when.startswith(other)
    ]
    assert [*shown, *_shown(heading)] == _pipeline(target)


# -- the options -----------------------------------------------------------------------


def _options(kind: type[ModulePass]) -> list[tuple[str, str]]:
    """Each option with its default, as the pages write it."""
    found: list[tuple[str, str]] = []
    for field in fields(kind):
        is_given = not isinstance(field.default, (int, str, tuple))
        default = "" if is_given else option_text(field.default)
        found.append((field.name, f"`{default}`" if default else ""))
    return found


def test_the_page_of_passes_has_their_options():
    rows = _table(PIPELINES, "## Options")
    listed: dict[str, list[tuple[str, str]]] = {}
    for name, option, default, _ in rows:
        listed.setdefault(name.strip("`"), []).append((option.strip("`"), default))
    expected = {
        name: sorted(_options(pass_class(name)))
        for name in PASSES
        if name not in SECTIONS and fields(pass_class(name))
    }
    assert {name: sorted(options) for name, options in listed.items()} == expected


# -- the library of transformations ----------------------------------------------------

SECTIONS: dict[str, str] = dict(
    re.findall(
        r"^### `([\w-]+)`\n(.*?)(?=^##|\Z)",
        LIBRARY.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
)
EXAMPLE = re.compile(
    r"```mlir before\n(?P<before>.*?)```\n\n"
    r"```sh\ngpucodegen (?P<command>.*?)\n```\n\n"
    r"```(?P<kind>mlir|text) after\n(?P<after>.*?)```",
    re.DOTALL,
)


def test_each_pass_without_a_pipeline_is_in_the_library():
    used = {name for target in ("cpu", "cuda") for name, _ in _pipeline(target)}
    unused = {pass_class(name).name for name in PASSES} - used
    assert unused <= set(SECTIONS) <= set(PASSES)


@pytest.mark.cases("name", SECTIONS)
def test_the_section_of_a_pass_has_its_options(name: str):
    listed = [
        (option.strip("`"), row[1])
        for row in _table(LIBRARY, f"### `{name}`")
        for option in row[0].split(", ")
    ]
    assert sorted(listed) == sorted(_options(pass_class(name)))


@pytest.mark.cases("name", SECTIONS)
def test_the_section_of_a_pass_says_what_is_refused(name: str):
    assert "\n**Refused:** " in SECTIONS[name]


@pytest.mark.parametrize("name", SECTIONS)
def test_the_examples_are_what_the_command_prints(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
):
    examples = list(EXAMPLE.finditer(SECTIONS[name]))
    assert examples
    monkeypatch.chdir(tmp_path)
    for example in examples:
        Path("example.mlir").write_text(example["before"], encoding="utf-8")
        words = shlex.split(example["command"])
        assert words[:2] == ["opt", "-p"]
        assert name in words[2]
        status = main(words)
        out, err = capsys.readouterr()
        printed = out if example["kind"] == "mlir" else err
        if request.config.getoption("--update-golden"):
            text = LIBRARY.read_text(encoding="utf-8")
            head, tail = example[0], example["after"]
            written = head.removesuffix(f"{tail}```") + f"{printed}```"
            LIBRARY.write_text(text.replace(head, written), encoding="utf-8")
            continue
        assert printed == example["after"]
        assert status == (0 if out else 1)
        if out:
            assert f"{gcg.parse(out)}\n" == out
