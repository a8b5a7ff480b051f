"""Does docs/onnxruntime.md list every public name of onnxruntime's package, with what is true of it?"""

from __future__ import annotations

import builtins
import importlib
import re
import types
from pathlib import Path
from typing import Any, Final

import onnxruntime
import pytest

import onnxloom
from onnxloom import errors
from onnxloom.capi import onnxruntime_pybind11_state as ours

PAGE: Final = (Path(__file__).parents[2] / "docs" / "onnxruntime.md").read_text()
STATE: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")

_OTHERS: Final = "ModelMetadata, NodeArg, OrtDevice, OrtMemoryInfo"

CLASSES: Final = {
    "InferenceSession": ["InferenceSession"],
    "SessionOptions": ["SessionOptions"],
    "RunOptions": ["RunOptions"],
    "OrtValue": ["OrtValue"],
    "IOBinding": ["IOBinding"],
    _OTHERS: _OTHERS.split(", "),
}
"""Title of a section -> classes whose members it lists."""

STATUSES: Final = {"", "same", "differs", "ignored", "refused"}


def rows(title: str) -> list[tuple[str, str]]:
    """(name, status) of the table of a section."""
    section = PAGE.split(f"\n### {title}\n")[1].split("\n## ")[0].split("\n### ")[0]
    found: list[tuple[str, str]] = []
    for line in section.splitlines():
        if line.startswith("| `"):
            names, status, *_ = (cell.strip() for cell in line.strip("|").split("|"))
            found += [(name, status) for name in re.findall(r"`(\w+)`", names)]
    return found


def public(thing: Any) -> set[str]:
    """Names that a user may use; modules that are only imported there, and packages of tools, are none."""
    own = {"capi", "onnxruntime_validation"}
    return {
        name
        for name in dir(thing)
        if not name.startswith("_")
        and (name in own or not isinstance(getattr(thing, name), types.ModuleType))
    }


def test_every_name_of_the_module_is_listed() -> None:
    listed = [name for name, _ in rows("The module")]
    assert len(listed) == len(set(listed))
    assert set(listed) == public(onnxruntime)


@pytest.mark.parametrize("title", CLASSES)
def test_every_member_of_a_class_is_listed(title: str) -> None:
    listed = [name for name, _ in rows(title)]
    assert len(listed) == len(set(listed))
    assert set(listed) == set().union(*(public(getattr(onnxruntime, name)) for name in CLASSES[title]))


def test_everything_listed_is_there() -> None:
    for name, status in rows("The module"):
        assert status in STATUSES
        assert hasattr(onnxloom, name), name
    for title, classes in CLASSES.items():
        made = [getattr(onnxloom, name) for name in classes]
        if title in ("SessionOptions", "RunOptions"):
            made = [kind() for kind in made]
        elif title == _OTHERS:
            made = [
                onnxloom.ModelMetadata(),
                onnxloom.NodeArg("x", "", []),
                onnxloom.OrtDevice(),
                onnxloom.OrtMemoryInfo(),
            ]
        for name, status in rows(title):
            assert status in STATUSES - {""}
            assert any(hasattr(one, name) for one in made), f"{title}: {name}"


def test_classes_that_are_refused_cannot_be_made() -> None:
    refused = [getattr(onnxloom, name) for name, status in rows("The module") if status == "refused"]
    assert refused
    for thing in refused:
        with pytest.raises(onnxloom.UnsupportedFeatureError):
            thing("name")


def test_exceptions_are_there_and_told_of() -> None:
    names = [name for name in dir(STATE) if isinstance(getattr(STATE, name), type)]
    names = [name for name in names if issubclass(getattr(STATE, name), Exception)]
    assert names
    for name in names:
        assert issubclass(getattr(ours, name), Exception)
        assert f"`{name}`" in PAGE


def test_what_errors_also_are_is_true() -> None:
    section = PAGE.split("\n## Errors\n")[1].split("\n## ")[0]
    table = re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", section, re.MULTILINE)
    assert {name for name, _ in table} >= {"InputError", "ModelError", "UnsupportedOpError"}
    for name, bases in table:
        for base in re.findall(r"`(\w+)`", bases):
            kind = getattr(errors, base, None) or getattr(builtins, base)
            assert issubclass(getattr(errors, name), kind), (name, base)


def test_the_lower_level_has_what_onnxruntime_has_there() -> None:
    """Classes and functions that only onnxruntime's own tools use are left out."""
    tools = re.compile(
        "get_all_op|get_compat|get_hardware|get_model_compat|get_registered|get_session_init|opkernel|schemadef"
        "|pack_fp4|quantize_|SessionObjectInitializer|Sparse.*View|OrtCompiledModel|OrtDeviceEp|Arena|^k"
    )
    missing = [name for name in public(STATE) if not hasattr(ours, name) and not tools.search(name)]
    assert missing == []
