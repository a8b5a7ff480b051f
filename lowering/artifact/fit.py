"""Can a compiled model be used here? What it was made with and for, compared with what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxloom import __version__
from onnxloom.errors import ArtifactError
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.plan import store


def made_with() -> dict[str, Any]:
    """What must be the same where a stored model is loaded."""
    return {"onnxloom": __version__, "classes": store.classes_digest()}


def check_version(description: Mapping[str, Any]) -> None:
    """Raises ArtifactError for a model that another version has stored."""
    version = description.get("onnxloom")
    if version != __version__:
        raise ArtifactError(f"was compiled by onnxloom {version}; this is onnxloom {__version__}")
    if description.get("classes") != store.classes_digest():
        raise ArtifactError("was compiled by another build of this version of onnxloom")


def check_processor(triple: str, features: Sequence[str]) -> None:
    """Raises ArtifactError for code that this processor cannot run."""
    host = CpuTarget.host()
    if triple != host.triple:
        raise ArtifactError(f"was compiled for {triple}; this is {host.triple}")
    missing = sorted(set(features).difference(host.required))
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise ArtifactError(f"was compiled for a processor with {shown}, which this one ({host.cpu}) lacks")
