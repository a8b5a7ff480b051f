"""Do the tables of files list every file, and no other?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", ["conversion/onnx_to_loom", "conversion/onnx_to_loom/channels_last"])
def test_every_file_is_in_the_table(folder: str) -> None:
    listed = _listed((ROOT / folder / "README.md").read_text())
    folders = {Path(file).parent for file in listed} | {Path()}
    there = {
        path.relative_to(ROOT / folder).as_posix()
        for name in folders
        for path in (ROOT / folder / name).glob("*.py")
        if path.name != "__init__.py"
    }
    assert sorted(listed) == sorted(there)
    described = {name for name in ("kinds", "ops", "channels_last") if (ROOT / folder / name).is_dir()}
    packages = {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}
    assert packages == described | {name.name for name in folders - {Path()}}


def _listed(page: str) -> list[str]:
    """Files of the tables, with their folder where a first column says one: once for all rows below it."""
    found: list[str] = []
    folder = ""
    for row in re.findall(r"^\|.*\|$", page, re.MULTILINE):
        first, *_ = cells = [cell.strip() for cell in row.strip("|").split("|")]
        named = re.fullmatch(r"`(\w+/)`", first)
        if first:
            folder = named[1] if named else ""
        found += [folder + file for file in re.findall(r"`(\w+\.py)`", " ".join(cells[:2]))]
    return found


def test_links_lead_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("conversion/**/*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
