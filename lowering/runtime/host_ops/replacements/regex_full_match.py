"""RegexFullMatch: in RE2, whose syntax the standard names, \\w and its like know ASCII alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("RegexFullMatch")
def regex_full_match(attributes: Attributes, x: Any) -> Sequence[Any]:
    """Whether each string as a whole matches. Raises ValueError for a pattern that cannot be read."""
    try:
        pattern = re.compile(attributes.get("pattern", ""), re.ASCII)
    except re.error as error:
        raise ValueError(f"the pattern cannot be read: {error}") from error
    found = [pattern.fullmatch(str(text)) is not None for text in x.reshape(-1)]
    return [np.array(found, np.bool_).reshape(x.shape)]
