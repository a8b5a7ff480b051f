"""Random nests of Loop, Scan and If as ONNX models, from a seed.

Values are vectors of floats, floats, and integers. Bodies read what is around them, trip counts and
conditions depend on data, loops may not run at all, and scan outputs go along either axis and either way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import onnx.helper as oh
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

VECTOR: Final = "vector"
FLOAT: Final = "float"
INT: Final = "int"
SLICE: Final = "slice"
"""A vector whose length is that of the slices of one Scan."""

_RANKS = {VECTOR: 1, SLICE: 1, FLOAT: 0, INT: 0}

DEPTH: Final = 3


def random_loops(seed: int) -> ModelProto:
    """A model of vectors `x` and `y` of one length, and an integer `k`."""
    names = _Names(random.Random(seed))
    scope = _Scope(names, {"x": VECTOR, "y": VECTOR, "k": INT})
    scope.grow(names.random.randint(2, 5), DEPTH)
    made = [name for name in scope.values if name not in ("x", "y", "k")][-8:]
    outputs = [oh.make_tensor_value_info(n, _element(scope.values[n]), None) for n in made]
    inputs = [oh.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in ("x", "y")]
    inputs.append(oh.make_tensor_value_info("k", TensorProto.INT64, []))
    graph = oh.make_graph(scope.nodes, "loops", inputs, outputs)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 21)], ir_version=10)


def _element(kind: str) -> int:
    return TensorProto.INT64 if kind == INT else TensorProto.FLOAT


@dataclass
class _Names:
    """Names nothing else has, and the source of chance."""

    random: random.Random
    count: int = 0

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"


@dataclass
class _Scope:
    """One graph being written: the values it can read and its nodes."""

    names: _Names
    values: dict[str, str]
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])

    def __post_init__(self) -> None:
        self.random = self.names.random
        self.outer = frozenset(self.values)

    def add(self, op: str, inputs: Sequence[str], kind: str = "", **attributes: Any) -> str:
        """A node of one result, which can be read from then on if it has a kind."""
        name = self.names.fresh()
        self.nodes.append(oh.make_node(op, inputs, [name], **attributes))
        if kind:
            self.values[name] = kind
        return name

    def constant(self, value: Any) -> str:
        return self.add("Constant", [], value=numpy_helper.from_array(np.asarray(value)))

    def pick(self, *kinds: str) -> str:
        return self.random.choice([name for name, kind in self.values.items() if kind in kinds])

    def has(self, kind: str) -> bool:
        return kind in self.values.values()

    def nested(self, arguments: dict[str, str]) -> _Scope:
        """The scope of a body; its arguments are not of outside."""
        scope = _Scope(self.names, dict(self.values))
        scope.values.update(arguments)
        return scope

    def grow(self, count: int, depth: int) -> None:
        """Some ops; `depth` is how deep bodies may still nest."""
        for _ in range(count):
            if depth and self.random.random() < 0.45:
                self.random.choice([self.loop, self.loop, self.scan, self.branch])(depth - 1)
            else:
                self.random.choice([self.unary, self.unary, self.shifted, self.mean, self.scaled])()

    def unary(self) -> None:
        op = self.random.choice(["Tanh", "Neg", "Abs", "Sigmoid", "Identity"])
        self.add(op, [self.pick(VECTOR)], VECTOR)

    def shifted(self) -> None:
        number = self.add("Cast", [self.pick(INT)], FLOAT, to=TensorProto.FLOAT)
        self.add(self.random.choice(["Add", "Sub"]), [self.pick(VECTOR), number], VECTOR)

    def mean(self) -> None:
        self.add("ReduceMean", [self.pick(VECTOR)], FLOAT, keepdims=0)

    def scaled(self) -> None:
        factor = self.pick(FLOAT) if self.has(FLOAT) else self.constant(np.float32(0.5))
        self.add("Mul", [self.pick(VECTOR), factor], VECTOR)

    def sum_of(self, name: str, element: int = TensorProto.FLOAT) -> None:
        """What a scan output adds up to: its shape is that of no other value."""
        if element != TensorProto.FLOAT:
            name = self.add("Cast", [name], to=TensorProto.FLOAT)
        self.add("ReduceSum", [name], FLOAT, keepdims=0)

    def condition(self) -> str:
        chance, random = self.random.random(), self.random
        if chance < 0.3:
            return self.add("Less", [self.pick(INT), self.constant(np.int64(random.randint(0, 4)))])
        if chance < 0.85:
            total = self.add("ReduceSum", [self.pick(VECTOR)], keepdims=0)
            limit = self.constant(np.float32(random.uniform(-3, 6)))
            return self.add(random.choice(["Less", "Greater"]), [total, limit])
        return self.constant(np.bool_(random.random() < 0.7))

    def given(self, name: str, kind: str) -> ValueInfoProto:
        """The type of a body's argument or result, which may leave its shape open."""
        rank = _RANKS[kind]
        shape = None if self.random.random() < 0.3 else [None] * rank
        return oh.make_tensor_value_info(name, _element(kind), shape)

    def result(self, kind: str, taken: Sequence[ValueInfoProto], arguments: Sequence[str]) -> ValueInfoProto:
        """A value as a result of this graph; those of outside and arguments by way of an Identity."""
        name = self.pick(kind)
        others = (*self.outer, *arguments, *(t.name for t in taken))
        return self.given(self.add("Identity", [name]) if name in others else name, kind)

    def loop(self, depth: int) -> None:
        random = self.random
        carried = [self.pick(VECTOR, FLOAT, INT) for _ in range(random.randint(1, 3))]
        kinds = [self.values[name] for name in carried]
        trips = random.choice(
            ["", self.pick(INT), self.constant(np.int64(random.choice([0, 1, 2, 5, -1, 20])))]
        )
        going = self.condition() if random.random() < 0.6 else ""
        number, before = self.names.fresh("i"), self.names.fresh("g")
        names = [self.names.fresh("a") for _ in carried]
        body = self.nested({number: INT, **dict(zip(names, kinds, strict=True))})
        body.grow(random.randint(1, 4), depth)
        results = [oh.make_tensor_value_info(body.goes_on(number, before, trips), TensorProto.BOOL, [])]
        for kind in kinds:
            results.append(body.result(kind, results, [number]))
        rows = [random.choice([VECTOR, INT]) for _ in range(random.randint(0, 2))]
        for kind in rows:
            results.append(body.result(kind, results, [number]))
        arguments = [
            oh.make_tensor_value_info(number, TensorProto.INT64, []),
            oh.make_tensor_value_info(before, TensorProto.BOOL, []),
            *(self.given(name, kind) for name, kind in zip(names, kinds, strict=True)),
        ]
        graph = oh.make_graph(body.nodes, self.names.fresh("loop"), arguments, results)
        self.take("Loop", [trips, going, *carried], kinds, rows, body=graph)

    def goes_on(self, number: str, before: str, trips: str) -> str:
        """The condition that an iteration gives; one that ends the loop where nothing else does."""
        chance = self.random.random()
        if not trips or chance < 0.5:
            limit = self.add("Less", [number, self.constant(np.int64(self.random.randint(0, 6)))])
            return self.add("And", [self.condition(), limit])
        return self.add("Identity", [before]) if chance < 0.75 else self.constant(np.bool_(chance < 0.95))

    def scan(self, depth: int) -> None:
        random = self.random
        carried = [self.pick(VECTOR, FLOAT) for _ in range(random.randint(0, 2))] if self.has(FLOAT) else []
        kinds = [self.values[name] for name in carried]
        matrix, count = self.matrix(random.randint(1, 3)), random.randint(1, 2)
        names = [self.names.fresh("a") for _ in carried]
        slices = [self.names.fresh("s") for _ in range(count)]
        body = self.nested(dict(zip(names, kinds, strict=True)))
        for name in slices:
            body.values[name] = SLICE
            body.sum_of(name)
        body.grow(random.randint(1, 3), depth)
        results: list[ValueInfoProto] = []
        for kind in kinds:
            results.append(body.result(kind, results, (*names, *slices)))
        rows = [random.choice([VECTOR, SLICE, FLOAT]) for _ in range(random.randint(0 if kinds else 1, 2))]
        for kind in rows:
            results.append(body.result(kind, results, (*names, *slices)))
        # onnxruntime asks for the ranks of all of them.
        for result, kind in zip(results, (*kinds, *rows), strict=True):
            result.CopyFrom(oh.make_tensor_value_info(result.name, _element(kind), [None] * _RANKS[kind]))
        arguments = [self.given(name, kind) for name, kind in zip(names, kinds, strict=True)]
        arguments += [oh.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in slices]
        attributes: dict[str, Any] = {
            "num_scan_inputs": count,
            "scan_input_axes": [random.choice([0, 1, -1, -2])] * count,
            "scan_input_directions": [random.randint(0, 1) for _ in slices],
        }
        if rows:
            attributes["scan_output_axes"] = [random.choice([0, -1]) if _RANKS[kind] else 0 for kind in rows]
            attributes["scan_output_directions"] = [random.randint(0, 1) for _ in rows]
        graph = oh.make_graph(body.nodes, self.names.fresh("scan"), arguments, results)
        self.take("Scan", [*carried, *[matrix] * count], kinds, rows, body=graph, **attributes)

    def matrix(self, rows: int) -> str:
        """Several multiples of a vector as the rows of a matrix."""
        vector, axis = self.pick(VECTOR), self.constant(np.array([0]))
        row = self.add("Unsqueeze", [vector, axis])
        multiples = [self.add("Mul", [row, self.constant(np.float32(i + 0.5))]) for i in range(rows)]
        return self.add("Concat", multiples, axis=0)

    def branch(self, depth: int) -> None:
        kinds = [k for k in (VECTOR, FLOAT, INT) if self.has(k) and self.random.random() < 0.6] or [VECTOR]
        condition = self.condition()
        graphs: list[GraphProto] = []
        for name in ("then", "else"):
            body = self.nested({})
            body.grow(self.random.randint(0, 3), depth)
            results: list[ValueInfoProto] = []
            for kind in kinds:
                results.append(body.result(kind, results, ()))
            graphs.append(oh.make_graph(body.nodes, self.names.fresh(name), [], results))
        self.take("If", [condition], kinds, [], then_branch=graphs[0], else_branch=graphs[1])

    def take(
        self, op: str, inputs: Sequence[str], kinds: Sequence[str], rows: Sequence[str], **attributes: Any
    ) -> None:
        """Adds a node with bodies; what it gives can be read, stacked rows as their sum."""
        results = [self.names.fresh() for _ in (*kinds, *rows)]
        self.nodes.append(oh.make_node(op, inputs, results, **attributes))
        self.values.update(zip(results, kinds, strict=False))
        for name, kind in zip(results[len(kinds) :], rows, strict=True):
            self.sum_of(name, _element(kind))
