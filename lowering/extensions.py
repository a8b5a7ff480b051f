"""What does a call of the compiler add to onnxloom: its own plug-ins, rewrite patterns and custom ops?

Nothing is imported for calls that add nothing while nothing is installed.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from onnxloom.dialects.custom_ops import use_custom_ops
from onnxloom.transforms.plugins import current_plugins, has_installed_plugins, use_plugins

if TYPE_CHECKING:
    from onnxloom.lowering.compile import CompileOptions


@contextmanager
def extensions_in_use(options: CompileOptions) -> Generator[None]:
    """The plug-ins, patterns and custom ops of the options are known inside. Raises PassError."""
    with ExitStack() as stack:
        if has_installed_plugins():
            stack.enter_context(use_custom_ops(current_plugins().custom_ops))
        if options.plugins:
            stack.enter_context(use_plugins(options.plugins))
        if options.patterns:
            from onnxloom.transforms.rewriting.registry import use_patterns

            stack.enter_context(use_patterns(options.patterns))
        if options.custom_ops:
            stack.enter_context(use_custom_ops(options.custom_ops))
        yield


def extensions_stamp(options: CompileOptions) -> str | None:
    """Changes with any plug-in or added pattern in use; None where the source of one cannot be told."""
    digest = hashlib.sha256()
    kinds = sys.modules.get("onnxloom.transforms.fusion.plugins")
    if kinds is not None or has_installed_plugins():
        from onnxloom.transforms.fusion.plugins import current_registry

        digest.update(current_registry().fingerprint.encode())
        digest.update(current_plugins().fingerprint.encode())
    if "onnxloom.transforms.rewriting.registry" in sys.modules:
        from onnxloom.transforms.rewriting.registry import patterns_fingerprint

        fingerprint = patterns_fingerprint()
        if fingerprint is None:
            return None
        digest.update(fingerprint.encode())
    return digest.hexdigest()
