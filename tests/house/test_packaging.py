from __future__ import annotations

import email
import json
import os
import re
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import gpucodegen as gcg
from tests.house.readme import ROOT, TESTS, TEXT

BESIDE_THE_PACKAGE = {
    *("tests", "examples", "bench", "docs", "docker", ".ci"),
    *("README.md", "CHANGELOG.md", "LICENSE", "THIRD_PARTY_NOTICES.md"),
    *("pyproject.toml", "PKG-INFO", ".gitignore"),
}


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


@pytest.fixture
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture
def sdist(dist: Path) -> Path:
    (path,) = dist.glob("*.tar.gz")
    return path


def test_the_links_are_links() -> None:
    for name in ("tiling", "kernels"):
        link = ROOT / "gpucodegen" / name
        assert link.is_symlink()
        assert link.readlink() == Path("..") / name


@pytest.mark.slow
def test_wheel_holds_one_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"gpucodegen"}


@pytest.mark.slow
def test_wheel_holds_no_links(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        modes = [info.external_attr >> 16 for info in archive.infolist()]
    assert not any(map(stat.S_ISLNK, modes))


@pytest.mark.slow
def test_wheel_is_complete(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    needed = {
        path.relative_to(ROOT).as_posix()
        for folder in ("gpucodegen", "gpucodegen/tiling", "gpucodegen/kernels")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".mlir", ".typed"} or path.name == "py.typed"
    }
    assert needed <= packed


@pytest.mark.slow
def test_an_index_shows_the_readme_without_links_into_the_repository(
    wheel: Path, sdist: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("/METADATA"))
        told = email.message_from_bytes(archive.read(name))
    with tarfile.open(sdist) as archive:
        (name,) = (n for n in archive.getnames() if n.endswith("/PKG-INFO"))
        found = archive.extractfile(name)
        assert found is not None
        same = email.message_from_bytes(found.read())
    page = told.get_payload()
    assert page == same.get_payload()
    assert told["Description-Content-Type"].startswith("text/markdown")
    assert [
        link for link in re.findall(r"\]\(([^)]+)\)", page) if "://" not in link
    ] == []
    words = re.sub(r"\]\([^)]+\)|[\[\]]", "", TEXT).split()
    assert re.sub(r"[\[\]]", "", page).split() == words


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    unreleased, latest, *_ = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert unreleased == "Unreleased"
    assert re.fullmatch(rf"{gcg.__version__} - \d{{4}}-\d\d-\d\d", latest)


@pytest.mark.slow
def test_sdist_holds_no_links_and_no_stray_package(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert not any(member.issym() or member.islnk() for member in members)
    tops = {member.name.split("/")[1] for member in members}
    assert tops <= {"gpucodegen", *BESIDE_THE_PACKAGE}
    packed = {member.name.partition("/")[2] for member in members}
    assert "gpucodegen/tiling/__init__.py" in packed
    assert "gpucodegen/kernels/windows/conv_2d_nhwc_hwcf.mlir" in packed


@pytest.mark.slow
def test_installed_wheel_runs_the_main_job(wheel: Path, tmp_path: Path) -> None:
    """What it needs is installed here; `test_readme` installs it where nothing is."""
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site]
    run(*pip, wheel, cwd=tmp_path)
    installed = {"PYTHONPATH": str(site)}
    print_file = "print(__import__('gpucodegen').__file__)"
    where = run(sys.executable, "-c", print_file, cwd=tmp_path, **installed)
    assert Path(where.strip()).is_relative_to(site)
    out = run(sys.executable, ROOT / "examples/matmul.py", cwd=tmp_path, **installed)
    assert "NumPy time / gpucodegen time: best " in out
    command = site / "bin" / "gpucodegen"
    assert "doctor" in run(command, "--help", cwd=tmp_path, **installed)


def test_the_citation_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    assert f"version: {gcg.__version__}" in lines
    assert f"license: {project['license']}" in lines


def test_the_development_container_sets_up_a_clone() -> None:
    container = json.loads(
        (ROOT / ".devcontainer/devcontainer.json").read_text("utf-8")
    )
    setup, _, _ = TESTS.rpartition(" && ")
    assert container["postCreateCommand"] == setup.replace("[test]", "[dev]")
