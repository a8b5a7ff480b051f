"""Ops of the standard on strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from peer_cases.case import Array, Case
from peer_cases.draw import Draw
from peer_cases.registry import Limit, cases_of

SAME = Limit(relative=0)
WHY = "strings"
WORDS = ("", "a", "b", "ab", "Hello World", "x1", "42", "a,b,,c", "über", "日本 語", "The cat", "  two ")


def strings(draw: Draw, shape: Sequence[int], words: Sequence[str] = WORDS) -> Array:
    """Words, in any shape."""
    found = [draw.one_of(*words) for _ in range(int(np.prod(shape)))]
    return np.array(found, object).reshape(shape)


@cases_of("StringConcat", domain="", limit=SAME, reason=WHY)
def string_concat(draw: Draw) -> Case:
    shape = draw.shape(0, 3)
    return Case([strings(draw, shape), strings(draw, draw.broadcastable(shape))], is_dynamic=draw.often(0.3))


@cases_of("StringSplit", domain="", limit=SAME, reason=WHY)
def string_split(draw: Draw) -> Case:
    attributes = draw.some({"delimiter": draw.one_of(",", " ", "", "b"), "maxsplit": draw.size(1, 3)}, 0.6)
    shape = [draw.size(1, 4) for _ in range(draw.size(1, 2))]
    return Case([strings(draw, shape)], attributes, 2)


@cases_of("StringNormalizer", domain="", limit=SAME, reason=WHY)
def string_normalizer(draw: Draw) -> Case:
    words = ("Hello", "world", "HELLO", "The", "cat", "x1", "a")
    attributes = draw.some(
        {"case_change_action": draw.one_of("NONE", "LOWER", "UPPER"), "is_case_sensitive": draw.one_of(0, 1),
         "stopwords": ["hello", "The"]}, 0.7
    )  # fmt: skip
    shape = draw.one_of([draw.size(1, 5)], [1, draw.size(1, 5)])
    # Its default is a locale that need not be installed.
    return Case([strings(draw, shape, words)], attributes | {"locale": "C"})


@cases_of("RegexFullMatch", domain="", limit=SAME, reason=WHY)
def regex_full_match(draw: Draw) -> Case:
    pattern = draw.one_of("a.*", r"\d+", "[a-z]*", ".*b.*", r"\w+ \w+", "")
    return Case([strings(draw, draw.shape(0, 3))], {"pattern": pattern})


@cases_of("TfIdfVectorizer", domain="", limit=Limit(relative=1e-6), reason="one product")
def tfidf_vectorizer(draw: Draw) -> Case:
    has_words = draw.often(0.4)
    most = draw.size(1, 3)
    pools: list[int] = []
    starts, total = [], 0
    for length in range(1, most + 1):
        starts.append(len(pools))
        known: set[tuple[int, ...]] = set()
        for _ in range(draw.size(1, 4)):
            gram = tuple(int(v) for v in draw.below(5, length))
            if gram not in known:
                known.add(gram)
                pools += gram
        total += len(known)
    mode = draw.one_of("TF", "IDF", "TFIDF")
    attributes: dict[str, Any] = {
        "mode": mode, "min_gram_length": draw.size(1, most), "max_gram_length": most,
        "max_skip_count": draw.size(0, 3), "ngram_counts": starts,
        "ngram_indexes": [int(v) for v in draw.rng.permutation(total)],
    }  # fmt: skip
    if draw.often():
        attributes["weights"] = [float(v) for v in draw.normal(total)]
    shape = draw.one_of([draw.size(0, 8)], [draw.size(1, 3), draw.size(1, 8)])
    x = draw.below(6, *shape)
    if has_words:
        attributes["pool_strings"] = [f"w{v}" for v in pools]
        return Case([np.array([f"w{v}" for v in x.ravel()], object).reshape(x.shape)], attributes)
    attributes["pool_int64s"] = pools
    return Case([x.astype(draw.one_of(np.int32, np.int64))], attributes, is_dynamic=draw.often(0.3))


@cases_of("Equal", domain="", limit=SAME, reason=WHY)
def equal(draw: Draw) -> Case:
    shape = draw.shape(0, 3)
    return Case([strings(draw, shape), strings(draw, draw.broadcastable(shape))], is_dynamic=draw.often(0.3))


@cases_of("Unique", domain="", limit=SAME, reason=WHY)
def unique(draw: Draw) -> Case:
    shape = [draw.size(1, 4) for _ in range(draw.size(1, 2))]
    attributes = draw.some({"sorted": 0, "axis": draw.size(-len(shape), len(shape) - 1)}, 0.4)
    return Case([strings(draw, shape, WORDS[:5])], attributes, 4)


@cases_of("Gather", domain="", limit=SAME, reason=WHY)
def gather(draw: Draw) -> Case:
    shape = [draw.size(1, 4) for _ in range(draw.size(1, 3))]
    # onnxruntime copies the first string of a slice only.
    axis = draw.one_of(-1, len(shape) - 1)
    indices = draw.below(shape[axis], *draw.shape(0, 2), low=-shape[axis])
    return Case([strings(draw, shape), indices], {"axis": axis}, is_dynamic=draw.often(0.3))


@cases_of("Concat", domain="", limit=SAME, reason=WHY)
def concat(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    axis = draw.size(-len(shape), len(shape) - 1)
    shapes: list[list[int]] = []
    for _ in range(draw.size(1, 3)):
        own = list(shape)
        own[axis] = draw.dim()
        shapes.append(own)
    return Case([strings(draw, each) for each in shapes], {"axis": axis}, is_dynamic=draw.often(0.3))


@cases_of("Reshape", domain="", limit=SAME, reason=WHY)
def reshape(draw: Draw) -> Case:
    x = strings(draw, draw.shape(1, 3))
    target = draw.one_of([-1], [x.size], [1, x.size]) if x.size else [x.size]
    return Case([x, np.array(target, np.int64)], constant=[1] * draw.often())


@cases_of("Where", domain="", limit=SAME, reason=WHY)
def where(draw: Draw) -> Case:
    shape = draw.shape(1, 3)
    inputs = [
        draw.bools(*draw.broadcastable(shape)),
        strings(draw, shape),
        strings(draw, draw.broadcastable(shape)),
    ]
    return Case(inputs, is_dynamic=draw.often(0.3))


@cases_of("Transpose", domain="", limit=SAME, reason=WHY)
def transpose(draw: Draw) -> Case:
    x = strings(draw, draw.shape(1, 4))
    return Case([x], {"perm": [int(i) for i in draw.rng.permutation(x.ndim)]}, is_dynamic=draw.often(0.3))


@cases_of("Cast", domain="", limit=SAME, reason=WHY)
def cast(draw: Draw) -> Case:
    if draw.often():
        numbers = strings(draw, draw.shape(0, 2), ("1", "-7", "42", "0"))
        return Case([numbers], {"to": draw.one_of(1, 7, 6, 11)})
    # Floats are written in other ways.
    x = draw.below(99, *draw.shape(0, 2), low=-99)
    return Case([x.astype(draw.one_of(np.int32, np.int64))], {"to": 8})
