"""Whatever a pass does is recorded and done again to the byte; damaged records are a PassError."""

from __future__ import annotations

import json
import random
from io import StringIO
from typing import Any

import pytest
from random_mutations import MODULE, mutate
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import PassError
from onnxloom.transforms.rewriting.recording import Recorder
from onnxloom.transforms.rewriting.records import RewriteLog
from onnxloom.transforms.rewriting.replay import replay, replay_records

SEEDS = (0, 1, 3, 7, 11, 17, 23, 25, 28, 33, 35, 38)
"""Passes that do much."""


def text_of(module: ModuleOp) -> str:
    stream = StringIO()
    print_module(module, stream)
    return stream.getvalue()


def recorded(seed: int) -> tuple[RewriteLog, str]:
    """The log of random passes, and the text they lead to."""
    rng = random.Random(seed)
    module = parse_module(MODULE)
    recorder = Recorder()
    for number in range(rng.randrange(1, 5)):
        with recorder.batch(module, f"pass{number}"):
            mutate(module, rng, rng.randrange(1, 8))
    verify_module(module)
    return recorder.log(), text_of(module)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_random_passes_are_replayed_to_the_byte(start: int) -> None:
    for seed in range(start, start + 50):
        log, expected = recorded(seed)
        module = parse_module(MODULE)
        replay(module, RewriteLog.from_json(log.to_json()))
        assert text_of(module) == expected, f"seed {seed}"


def test_random_passes_make_records_of_every_part() -> None:
    parts = ("matched", "added", "changed", "moved", "relaid", "retyped", "renames", "named")
    used = {
        part for seed in range(40) for record in recorded(seed)[0] for part in parts if getattr(record, part)
    }
    assert used == set(parts) - {"retyped"}


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_a_damaged_record_is_a_pass_error_or_changes_nothing_else(start: int) -> None:
    refused = 0
    for seed in range(start, start + 100):
        rng = random.Random(seed)
        data = json.loads(recorded(SEEDS[seed % len(SEEDS)])[0].to_json())
        for _ in range(rng.randrange(1, 3)):
            if data["records"]:
                damage(data["records"], rng)
        module = parse_module(MODULE)
        try:
            replay_records(module, RewriteLog.from_json(json.dumps(data)).records)
        except PassError as error:
            refused += 1
            assert "\n" not in str(error)
        else:
            verify_module(module)
            text_of(module)
    assert refused > 30


def damage(node: Any, rng: random.Random) -> None:
    """Changes one thing somewhere in JSON data."""
    holder, key = rng.choice(list(_places(node)))
    held = holder[key]
    if isinstance(held, str) and held and rng.random() < 0.8:
        at = rng.randrange(len(held))
        insert = rng.choice(["0", "1", "7", ".", "#", "%", "(", '"', "x", "", "was_0.0.0.0.0.1#0", "-"])
        holder[key] = held[:at] + insert + held[at + rng.randrange(2) :]
    elif isinstance(held, list) and held and rng.random() < 0.8:
        items: list[Any] = held
        rng.choice([items.pop, lambda: items.append(items[0]), items.reverse, lambda: rng.shuffle(items)])()
    elif rng.random() < 0.5 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = rng.choice([0, -1, 1 << 40, None, "", "module", [], {}, True, "0.0.0.0.0", 1.5])


def _places(node: Any) -> Any:
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, held in items:
        yield node, key
        if isinstance(held, dict | list):
            yield from _places(held)
