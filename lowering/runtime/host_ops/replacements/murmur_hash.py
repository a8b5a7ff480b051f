"""com.microsoft MurmurHash3: the 32-bit hash of the bytes of each number or string.

Source: the public description of MurmurHash3_x86_32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

_MASK = 0xFFFFFFFF


@replaces("MurmurHash3", domain="com.microsoft")
def murmur_hash(attributes: Attributes, x: Any) -> Sequence[Any]:
    """uint32, or int32 where `positive` is 0."""
    seed = int(attributes.get("seed", 0)) & _MASK
    flat = [v.encode("utf-8") if isinstance(v, str) else np.asarray(v).tobytes() for v in x.reshape(-1)]
    hashes = np.array([_hash(data, seed) for data in flat], np.uint32).reshape(x.shape)
    return [hashes if attributes.get("positive", 1) else hashes.view(np.int32)]


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _MASK


def _mixed(word: int) -> int:
    return _rotated(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _hash(data: bytes, seed: int) -> int:
    state, whole = seed, len(data) // 4 * 4
    for at in range(0, whole, 4):
        state ^= _mixed(int.from_bytes(data[at : at + 4], "little"))
        state = (_rotated(state, 13) * 5 + 0xE6546B64) & _MASK
    if whole < len(data):
        state ^= _mixed(int.from_bytes(data[whole:], "little"))
    state ^= len(data)
    state = (state ^ (state >> 16)) * 0x85EBCA6B & _MASK
    state = (state ^ (state >> 13)) * 0xC2B2AE35 & _MASK
    return state ^ (state >> 16)
