"""What is a chain of pointwise and depthwise convolutions? Shared by the kinds that are named after one.

    Transpose ─► Conv ─► Transpose ─► epilogue ──► Transpose ─► Conv ─► Transpose ─► epilogue ──► ...

Each link is a convolution of channels-last tensors with its epilogue, as `onnx.conv_channels_last` has it,
whose result only the next link reads. Taking several as one kernel pays where what lies between them
does not stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import ClassVar, Final, Self

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, f64
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.body import externals_of
from onnxloom.transforms.fusion.epilogue import only_reader
from onnxloom.transforms.fusion.estimate import byte_count, estimate
from onnxloom.transforms.fusion.helper import DimEquality, FusionOpKindHelper
from onnxloom.transforms.fusion.kinds.conv_channels_last import ConvChannelsLastFusion
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.spaces import element_of, shape_of

MAX_TAPS: Final = 49
"""Taps of the largest depthwise window."""

MAX_WEIGHTS: Final = 300_000
"""Bytes of weights that are read again for each strip and must leave room in the cache."""


class Role(Enum):
    """What a link is."""

    POINTWISE = "pointwise"
    DEPTHWISE = "depthwise"


class BottleneckFusion(FusionOpKindHelper, abstract=True):
    """Some links in a row; a kind says which."""

    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvOp,)
    max_op_count: ClassVar[int] = 96

    roles: ClassVar[tuple[Role, ...]]
    least_bytes: ClassVar[int]
    """Of what lies between the links, from which on one kernel is faster; `benchmarks/architectures`."""

    max_depth: ClassVar[int] = 256
    """Input channels of a pointwise convolution: its sums are added in one go; longer ones lose digits."""

    op_counts: tuple[int, ...]
    """Ops per link."""

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        links = _links(cls, dims, anchor)
        if isinstance(links, Miss):
            return links
        ops = [op for link in links for op in link.ops]
        between = sum(byte_count(link.results[0])[0] for link in links[:-1])
        if between < cls.least_bytes:
            return Miss(f"what lies between the convolutions are {between} bytes, which stay in the cache")
        weights = sum(byte_count(_conv(link).operands[1])[0] for link in links)
        if weights > MAX_WEIGHTS:
            return Miss(f"{weights} bytes of weights would be read for each strip")
        results = links[-1].results
        helper = cls(tuple(len(link.ops) for link in links), dim_conditions=_conditions(links))
        return Match(helper, tuple(ops), tuple(results), estimate(ops, results), links[-1].stops)

    def verify(self, body: Body) -> Miss | None:
        links = self.links_of(body)
        if isinstance(links, Miss):
            return links
        conditions = self._conditions_of(links, body)
        for link, role, count in zip(links, self.roles, self.op_counts, strict=True):
            kind = ConvChannelsLastFusion(count, dim_conditions=conditions)
            problem = kind.verify(link) or _unfit(_conv(link), role, self.max_depth)
            if problem is not None:
                return problem
        for link, following in zip(links, links[1:], strict=False):
            if only_reader(link.results[0]) is not following.ops[0]:
                return Miss("what a convolution of the chain gives is not read by the next one alone")
        return None

    def _conditions_of(self, links: Sequence[Body], body: Body) -> tuple[DimEquality, ...]:
        """Those of the chain, and that all its tensors hold as many images."""
        source = links[0].ops[0].operands[0]
        if source not in body.inputs:
            return self.dim_conditions
        between = range(len(body.inputs), len(body.inputs) + len(links) - 1)
        images = ((i, 0, body.inputs.index(source), 0) for i in between)
        return (*self.dim_conditions, *images)

    def links_of(self, body: Body) -> list[Body] | Miss:
        """The links of a body, each as a body of `onnx.conv_channels_last`.

        Their inputs are those of the body, then what lies between the links.
        """
        if len(self.op_counts) != len(self.roles) or min(self.op_counts) < 3:
            return Miss(f"op_counts {list(self.op_counts)} is not of {len(self.roles)} convolutions")
        if sum(self.op_counts) != len(body.ops):
            return Miss(f"the body has {len(body.ops)} ops; expected {sum(self.op_counts)}")
        links: list[Body] = []
        start = 0
        for count in self.op_counts:
            ops = body.ops[start : start + count]
            links.append(Body(ops, (ops[-1].results[0],), body.inputs))
            start += count
        if list(body.results) != list(links[-1].results):
            return Miss("the body does not yield what its last op makes")
        inputs = (*body.inputs, *(link.results[0] for link in links[:-1]))
        return [replace(link, inputs=inputs) for link in links]


def _links(
    kind: type[BottleneckFusion], dims: DimAnalysis, anchor: Operation
) -> list[Match[ConvChannelsLastFusion]] | Miss:
    links: list[Match[ConvChannelsLastFusion]] = []
    conv: Operation | None = anchor
    for role in kind.roles:
        if not isinstance(conv, onnx.ConvOp):
            return Miss(f"no {role.value} convolution follows")
        problem = _unfit(conv, role, kind.max_depth)
        if problem is not None:
            return problem
        link = ConvChannelsLastFusion.detect_if_beneficial(dims, conv)
        if isinstance(link, Miss):
            return link
        links.append(link)
        following = only_reader(link.results[0])
        conv = None if following is None or not following.results else only_reader(following.results[0])
    return links


def _conditions(links: Sequence[Match[ConvChannelsLastFusion]]) -> tuple[DimEquality, ...]:
    """What the links rely on, in terms of the inputs of the chain: it holds as many images throughout."""
    source = links[0].ops[0].operands[0]
    between = {link.results[0] for link in links[:-1]}
    inputs = list(externals_of([op for link in links for op in link.ops]).inputs)
    found: list[DimEquality] = []
    for link in links:
        own = externals_of(link.ops).inputs
        for i, a, j, b in link.helper.dim_conditions:
            # Of what lies between, only the number of images is not known.
            one, other = (source if own[k] in between else own[k] for k in (i, j))
            equality = (inputs.index(one), a, inputs.index(other), b)
            if equality[:2] != equality[2:] and equality not in found:
                found.append(equality)
    return tuple(found)


def _conv(link: Match[ConvChannelsLastFusion] | Body) -> Operation:
    return link.ops[1]


def _unfit(conv: Operation, role: Role, max_depth: int) -> Miss | None:
    """Why a convolution cannot be a link."""
    image, weights, result = (shape_of(v) for v in (*conv.operands[:2], conv.results[0]))
    if image is None or weights is None or result is None or not len(image) == len(weights) == 4:
        return Miss("a chain of convolutions is one of images with two spatial dims")
    if DYNAMIC_INDEX in (*image[1:], *weights, *result[1:]) or 0 in (*image[1:], *weights, *result[1:]):
        return Miss("the dims of a chain of convolutions are not known, or 0")
    if element_of(conv.operands[0]) not in (f32, f64):
        return Miss(f"a chain of convolutions of {element_of(conv.operands[0])} has no kernel")
    if not isinstance(conv.operands[1].owner, onnx.ConstantOp):
        return Miss("the weights of a convolution are not constant")
    if role is Role.DEPTHWISE:
        return _unfit_depthwise(conv, weights)
    return _unfit_pointwise(conv, weights, max_depth)


def _unfit_pointwise(conv: Operation, weights: Sequence[int], max_depth: int) -> Miss | None:
    if math.prod(weights[2:]) != 1 or int_attr(conv, "group") != 1:
        return Miss("a convolution of the chain is not pointwise")
    if weights[1] > max_depth:
        return Miss(f"a pointwise convolution of {weights[1]} channels is too deep for a chain")
    if {*(ints_attr(conv, "strides") or ())} - {1} or any(ints_attr(conv, "pads") or ()):
        return Miss("a pointwise convolution of the chain has strides or pads")
    return None


def _unfit_depthwise(conv: Operation, weights: Sequence[int]) -> Miss | None:
    group = int_attr(conv, "group")
    if weights[1] != 1 or group != weights[0] or group == 1:
        return Miss("a convolution of the chain is not depthwise")
    if math.prod(weights[2:]) > MAX_TAPS:
        return Miss(f"a depthwise window of {math.prod(weights[2:])} taps is too large for a chain")
    return None
