"""Which version of each domain are the nodes of a model or function written for?"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import FunctionProto, ModelProto, defs

from onnxloom.errors import ModelError


def opsets_of(owner: ModelProto | FunctionProto, outer: Mapping[str, int] | None = None) -> dict[str, int]:
    """Domain -> version; `outer` holds for domains a function does not import itself."""
    opsets = dict(outer or {})
    seen: dict[str, int] = {}
    for entry in owner.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if seen.get(domain, entry.version) != entry.version:
            raise ModelError(
                f"domain {domain or 'ai.onnx'} is imported at {seen[domain]} and at {entry.version}"
            )
        seen[domain] = opsets[domain] = entry.version
    # The oldest format had no opsets: everything was at version 1.
    if isinstance(owner, ModelProto) and owner.ir_version < 3 and not owner.opset_import:
        opsets[""] = 1
    return opsets


def check_opset(domain: str, version: int) -> None:
    """Raises ModelError for a version the installed onnx does not know."""
    newest = defs.onnx_opset_version()
    if version < 1 or (domain == "" and version > newest):
        raise ModelError(f"opset {version} of {domain or 'ai.onnx'} is not known; expected 1 to {newest}")
