"""com.microsoft NGramRepeatBlock: words that would repeat an n-gram of the sentence are never chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("NGramRepeatBlock", domain="com.microsoft")
def ngram_repeat_block(attributes: Attributes, sentences: Any, scores: Any) -> Sequence[Any]:
    """Scores `[batch, words]`, -inf for such words. Raises ValueError for a word that has no score."""
    size, result = int(attributes.get("ngram_size")), scores.copy()
    if sentences.size and (sentences.min() < 0 or sentences.max() >= scores.shape[-1]):
        raise ValueError(f"words are from 0 to {scores.shape[-1] - 1}; a sentence has others")
    for row, words in enumerate(sentences.tolist()):
        last = words[len(words) - size + 1 :]
        for at in range(len(words) - size + 1):
            if words[at : at + size - 1] == last:
                result[row, words[at + size - 1]] = -np.inf
    return [result]
