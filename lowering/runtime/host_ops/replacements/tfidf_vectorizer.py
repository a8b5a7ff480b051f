"""TfIdfVectorizer: weights belong to the n-grams of the pool; the reference takes them for those of columns.

It also demands weights where the standard makes them optional.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Gram = tuple[Any, ...]


@replaces("TfIdfVectorizer")
def tfidf_vectorizer(attributes: Attributes, x: Any) -> Sequence[Any]:
    """f32 `[.., columns]`: counts, weights, or both multiplied, of the n-grams of each row."""
    pool = attributes.made.get("pool") or attributes.made.setdefault("pool", _pool(attributes))
    columns, weights = attributes.values["ngram_indexes"], attributes.get("weights")
    mode = attributes.get("mode")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise ValueError(f"unknown mode {mode!r}")
    rows = x.reshape(-1, x.shape[-1]) if x.ndim > 1 else x.reshape(1, -1)
    result = np.zeros((len(rows), max(columns) + 1), np.float32)
    for at, row in enumerate(rows.tolist()):
        counts = Counter(gram for gram in _grams(attributes, row) if gram in pool)
        for gram, count in counts.items():
            number = pool[gram]
            weight = 1.0 if mode == "TF" or not weights else weights[number]
            result[at, columns[number]] = weight if mode == "IDF" else weight * count
    return [result if x.ndim > 1 else result.reshape(-1)]


def _pool(attributes: Attributes) -> dict[Gram, int]:
    """The n-grams and their numbers, in order of length."""
    items: list[Any] = attributes.get("pool_strings") or attributes.get("pool_int64s") or []
    starts = attributes.values["ngram_counts"]
    found: list[Gram] = []
    for length, (start, end) in enumerate(zip(starts, [*starts[1:], len(items)], strict=True), 1):
        found += [tuple(items[at : at + length]) for at in range(start, end - length + 1, length)]
    return {gram: number for number, gram in enumerate(found)}


def _grams(attributes: Attributes, row: list[Any]) -> Iterator[Gram]:
    """All n-grams of a row, its items up to `max_skip_count` apart; single items once."""
    least, most = int(attributes.values["min_gram_length"]), int(attributes.values["max_gram_length"])
    for step in range(1, int(attributes.values["max_skip_count"]) + 2):
        for length in range(least if step == 1 else max(least, 2), most + 1):
            for start in range(len(row) - step * (length - 1)):
                yield tuple(row[start : start + step * length : step])
