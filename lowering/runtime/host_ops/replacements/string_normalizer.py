"""StringNormalizer: stop words are found in any case unless `is_case_sensitive`, whatever the action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

_CHANGES = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


@replaces("StringNormalizer")
def string_normalizer(attributes: Attributes, x: Any) -> Sequence[Any]:
    """The words that are left, `[words]` or `[1, words]`; one empty string where none is.

    Raises ValueError for other shapes and unknown actions.
    """
    action = attributes.get("case_change_action", "NONE")
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1) or action not in _CHANGES:
        raise ValueError(f"a tensor of shape {list(x.shape)} with action {action!r}; expected [C] or [1, C]")
    fold = str if attributes.get("is_case_sensitive", 0) else str.lower
    words: list[str] = attributes.get("stopwords") or []
    stops = {fold(word) for word in words}
    kept = [_CHANGES[action](str(word)) for word in x.reshape(-1) if fold(str(word)) not in stops]
    result = np.array(kept or [""], object)
    return [result if x.ndim == 1 else result.reshape(1, -1)]
