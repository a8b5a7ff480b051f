"""Ops of domain ai.onnx.ml on feature matrices: one row per sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, Operation, TypedAttribute

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import attr, ints_attr, strs_attr
from onnxloom.dialects.onnx.types import STRING_TYPE
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Inferred, Result, Rule, element_type, numbers
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import ONE, like_first


def _features(query: OpQuery) -> Sequence[Result]:
    return [Inferred(query.shape(0), f32)]


def _rows(query: OpQuery) -> DimExpr | None:
    """Number of samples: a vector is one sample."""
    shape = query.shape(0)
    if shape is None:
        return None
    return shape[0] if len(shape) > 1 else ONE


def _targets(count: Callable[[OpQuery], int]) -> Rule:
    def rule(query: OpQuery) -> Sequence[Result]:
        element = query.element(0) if isinstance(query.op, onnx.TreeEnsembleOp) else f32
        return [Inferred([_rows(query), DimExpr.of(count(query))], element)]

    return rule


def _classifier(query: OpQuery) -> Sequence[Result]:
    names = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")
    labels = [strs_attr(query.op, names[0]), *(ints_attr(query.op, name) for name in names[1:])]
    given = next((found for found in labels if found), ())
    # A single label stands for two classes when onnxruntime scores it: the width stays open.
    least = 2 if attr(query.op, "prob_a") else 3
    width = DimExpr.of(len(given)) if len(given) >= least and not _scores_pairs(query) else None
    return [Inferred([_rows(query)], STRING_TYPE if labels[0] else i64), Inferred([_rows(query), width], f32)]


def _scores_pairs(query: OpQuery) -> bool:
    """Whether runtimes give a score for each pair of classes, and not for each class as the standard says."""
    is_svm = isinstance(query.op, onnx.SVMClassifierOp)
    return is_svm and bool(ints_attr(query.op, "vectors_per_class")) and not attr(query.op, "prob_a")


def _feature_vectorizer(query: OpQuery) -> Sequence[Result]:
    widths = query.ints_attr("inputdimensions")
    return [Inferred([_rows(query), None if widths is None else DimExpr.of(sum(widths))], f32)]


def _one_hot_encoder(query: OpQuery) -> Sequence[Result]:
    categories = ints_attr(query.op, "cats_int64s") or strs_attr(query.op, "cats_strings") or ()
    shape = query.shape(0)
    return [Inferred(None if shape is None else [*shape, DimExpr.of(len(categories))], f32)]


def _array_feature_extractor(query: OpQuery) -> Sequence[Result]:
    shape, picked = query.shape(0), numbers(query.shape(1))
    if shape is None:
        return [Inferred(None, query.element(0))]
    lead = shape[:-1] if len(shape) > 1 else (ONE,)
    return [Inferred([*lead, DimExpr.of(picked[-1]) if picked else None], query.element(0))]


def _label_encoder(query: OpQuery) -> Sequence[Result]:
    tensor = attr(query.op, "values_tensor")
    element: Attribute | None = None
    if isinstance(tensor, TypedAttribute):
        element = element_type(tensor.get_type())
    for name, listed in (("values_strings", STRING_TYPE), ("values_int64s", i64), ("values_floats", f32)):
        if attr(query.op, name) is not None:
            element = listed
    return [Inferred(query.shape(0), element)]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.ScalerOp: _features,
    onnx.NormalizerOp: _features,
    onnx.ImputerOp: like_first,
    onnx.BinarizerOp: like_first,
    onnx.TreeEnsembleOp: _targets(lambda query: query.int_attr("n_targets", 1)),
    onnx.TreeEnsembleRegressorOp: _targets(lambda query: query.int_attr("n_targets", 1)),
    onnx.LinearRegressorOp: _targets(lambda query: query.int_attr("targets", 1)),
    onnx.SVMRegressorOp: _targets(lambda query: 1),
    onnx.LinearClassifierOp: _classifier,
    onnx.SVMClassifierOp: _classifier,
    onnx.TreeEnsembleClassifierOp: _classifier,
    onnx.LabelEncoderOp: _label_encoder,
    onnx.FeatureVectorizerOp: _feature_vectorizer,
    onnx.OneHotEncoderOp: _one_hot_encoder,
    onnx.ArrayFeatureExtractorOp: _array_feature_extractor,
}
