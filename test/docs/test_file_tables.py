"""Do the tables of files list every file, and no other?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", ["conversion/onnx_to_loom", "conversion/onnx_to_loom/channels_last"])
def test_every_file_is_in_the_table(folder: str) -> None:
    rows = [line for line in (ROOT / folder / "README.md").read_text().splitlines() if line.startswith("|")]
    listed = re.findall(r"`(\w+\.py)`", "\n".join(rows))
    there = {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py"}
    assert sorted(listed) == sorted(there)


def test_links_lead_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("conversion/**/*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
