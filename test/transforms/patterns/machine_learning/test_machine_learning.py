"""Ops of ai.onnx.ml become ops on whole tensors where nothing is lost; else the reason is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxloom.conversion.onnx_import import import_model
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.testing import Rel
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.machine_learning.array_feature_extractor import ArrayFeatureExtractorPattern
from onnxloom.transforms.patterns.machine_learning.binarizer import BinarizerPattern
from onnxloom.transforms.patterns.machine_learning.feature_vectorizer import FeatureVectorizerPattern
from onnxloom.transforms.patterns.machine_learning.imputer import ImputerPattern
from onnxloom.transforms.patterns.machine_learning.linear_classifier import LinearClassifierPattern
from onnxloom.transforms.patterns.machine_learning.linear_regressor import LinearRegressorPattern
from onnxloom.transforms.patterns.machine_learning.normalizer import NormalizerPattern
from onnxloom.transforms.patterns.machine_learning.one_hot_encoder import OneHotEncoderPattern
from onnxloom.transforms.patterns.machine_learning.scaler import ScalerPattern
from onnxloom.transforms.patterns.machine_learning.svm_classifier import SVMClassifierPattern
from onnxloom.transforms.patterns.machine_learning.svm_regressor import SVMRegressorPattern
from onnxloom.transforms.patterns.machine_learning.tree_ensemble_transform import TreeEnsembleTransformPattern
from onnxloom.transforms.rewriting.pattern import PatternOptimization

F32, F64, I64, I32 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32
Shape = Sequence[int | str]

PATTERNS: dict[str, type[PatternOptimization]] = {
    "Scaler": ScalerPattern,
    "Normalizer": NormalizerPattern,
    "LinearRegressor": LinearRegressorPattern,
    "LinearClassifier": LinearClassifierPattern,
    "Binarizer": BinarizerPattern,
    "ArrayFeatureExtractor": ArrayFeatureExtractorPattern,
    "Imputer": ImputerPattern,
    "FeatureVectorizer": FeatureVectorizerPattern,
    "SVMRegressor": SVMRegressorPattern,
    "SVMClassifier": SVMClassifierPattern,
    "OneHotEncoder": OneHotEncoderPattern,
    "TreeEnsemble": TreeEnsembleTransformPattern,
}


@dataclass(frozen=True)
class Op:
    """One op with its attributes, and types and shapes of its inputs and outputs."""

    name: str
    attributes: dict[str, Any]
    inputs: Sequence[tuple[int, Shape]] = ((F32, ("n", 3)),)
    outputs: Sequence[int] = (F32,)
    more: dict[str, Any] = field(default_factory=dict[str, Any])
    """Inputs that are not random."""
    as_peer: bool = True
    """Whether onnxruntime has the op, and follows the standard's reference in it."""

    def model(self) -> onnx.ModelProto:
        ins = [helper.make_tensor_value_info(f"x{i}", t, s) for i, (t, s) in enumerate(self.inputs)]
        outs = [helper.make_tensor_value_info(f"y{i}", t, None) for i, t in enumerate(self.outputs)]
        names = [value.name for value in ins], [value.name for value in outs]
        given = {name: value for name, value in self.attributes.items() if value is not None}
        node = helper.make_node(self.name, *names, domain="ai.onnx.ml", **given)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
        graph = helper.make_graph([node], "g", ins, outs)
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def feeds(self, rows: int = 5) -> dict[str, Any]:
        rng = np.random.default_rng(rows)
        arrays: dict[str, Any] = {}
        for number, (element, shape) in enumerate(self.inputs):
            values = rng.standard_normal([rows if isinstance(d, str) else d for d in shape]) * 3
            arrays[f"x{number}"] = values.astype(helper.tensor_dtype_to_np_dtype(element))
        return {**arrays, **self.more}

    @property
    def gives_as_evaluated(self) -> bool:
        """Whether the reference gives the type the standard says: not where f32 is made of another type."""
        return self.inputs[0][0] == F32 or self.outputs[0] != F32

    @property
    def pattern(self) -> type[PatternOptimization]:
        return PATTERNS[self.name]


THREE = [0.5, -1.5, 2.0]
SVM = {
    "coefficients": [0.5, -1.0], "n_supports": 2, "rho": [0.25], "kernel_params": [0.3, 0.2, 2.0],
    "support_vectors": [0.1, -0.2, 0.3, 0.4, 0.5, -0.6],
}  # fmt: skip
CLASSES = {"coefficients": [*THREE, 1.0, 0.0, -1.0], "intercepts": [0.1, -0.1], "classlabels_ints": [7, 3]}
BINARY = {"coefficients": THREE, "intercepts": [0.1], "classlabels_ints": [7, 3]}
SVC = {
    "coefficients": [0.5, -1.0], "vectors_per_class": [1, 1], "rho": [0.25], "kernel_params": [0.3, 0.2, 2.0],
    "support_vectors": [0.1, -0.2, 0.3, 0.4, 0.5, -0.6], "classlabels_ints": [7, 3], "kernel_type": "LINEAR",
}  # fmt: skip
SVC3 = {
    **SVC, "classlabels_ints": [7, 3, 9, 1], "vectors_per_class": [1] * 4, "coefficients": THREE * 4,
    "support_vectors": THREE * 4, "rho": THREE * 2, "kernel_type": "RBF",
}  # fmt: skip
TREE = {
    "nodes_featureids": [0, 1], "nodes_truenodeids": [1, 0], "nodes_falsenodeids": [0, 2],
    "nodes_trueleafs": [0, 1], "nodes_falseleafs": [1, 1], "leaf_targetids": [0, 1, 0], "tree_roots": [0],
    "n_targets": 2, "nodes_splits": numpy_helper.from_array(np.array([0.5, -0.5], np.float32)),
    "nodes_modes": numpy_helper.from_array(np.array([0, 1], np.uint8)),
    "leaf_weights": numpy_helper.from_array(np.array([0.25, -0.75, 0.5], np.float32)),
}  # fmt: skip
MISSING = {"imputed_value_floats": THREE, "replaced_value_float": 2.0}

POSITIVE = [
    Op("Scaler", {"offset": THREE, "scale": [2.0, 0.5, -1.0]}),
    Op("Scaler", {"offset": [1.0], "scale": [2.0]}, ((F32, ("n", "m")),)),
    Op("Scaler", {"offset": THREE, "scale": THREE}, ((F64, ("n", 3)),)),
    Op("Scaler", {"offset": THREE, "scale": THREE}, ((I64, ("n", 3)),)),
    Op("Normalizer", {"norm": "L1"}),
    Op("Normalizer", {"norm": "L2"}),
    Op("Normalizer", {"norm": "MAX"}, as_peer=False),
    Op("Normalizer", {"norm": "L2"}, ((F64, ("n", 3)),)),
    Op("Normalizer", {"norm": "L1"}, ((I32, ("n", 3)),)),
    Op("Normalizer", {"norm": "L1"}, more={"x0": np.zeros((2, 3), np.float32)}),
    Op("LinearRegressor", {"coefficients": THREE, "intercepts": [0.5]}),
    Op("LinearRegressor", {"coefficients": [*THREE, *THREE], "intercepts": [0.5, 1.0], "targets": 2}),
    Op("LinearRegressor", {"coefficients": THREE, "intercepts": [0.5]}, ((F64, ("n", 3)),), as_peer=False),
    *(Op("LinearClassifier", {**CLASSES, "post_transform": t}, outputs=(I64, F32)) for t in
      ("NONE", "LOGISTIC", "SOFTMAX", "PROBIT")),
    *(Op("LinearClassifier", {**BINARY, "post_transform": t}, outputs=(I64, F32))
      for t in ("NONE", "LOGISTIC", "SOFTMAX")),
    Op("LinearClassifier", {**CLASSES, "coefficients": [*THREE, *THREE, 9.0, 9.0]}, outputs=(I64, F32)),
    Op("LinearClassifier", CLASSES, ((F64, ("n", 3)),), (I64, F32)),
    Op("Binarizer", {"threshold": 0.1}),
    Op("Binarizer", {"threshold": 0.1}, more={"x0": np.array([[0.1, np.nan, np.inf]], np.float32)},
       as_peer=False),
    Op("ArrayFeatureExtractor", {}, ((F32, ("n", 3)), (I64, (2,))), more={"x1": np.array([2, 0])}),
    Op("ArrayFeatureExtractor", {}, ((F64, (2, "n", 3)), (I64, (1, 2))), (F64,), {"x1": np.array([[1, 1]])}),
    Op("ArrayFeatureExtractor", {}, ((I64, (3,)), (I64, (4,))), (I64,), {"x1": np.array([2, 0, 1, 2])}),
    Op("ArrayFeatureExtractor", {}, ((F32, ("n",)), (I64, (1, 2))), more={"x1": np.array([[0, 0]])}),
    Op("Imputer", MISSING, more={"x0": np.array([[2, 1, 2], [0, 2, np.nan]], np.float32)}),
    Op("Imputer", {"imputed_value_floats": [9.0], "replaced_value_float": float("nan")}, ((F32, ("n", "m")),),
       more={"x0": np.array([[np.nan, 1], [-0.0, np.nan]], np.float32)}),
    Op("Imputer", {"imputed_value_int64s": [9], "replaced_value_int64": 2}, ((I64, ("n", 3)),), (I64,),
       more={"x0": np.array([[2, 1, 2]])}),
    Op("FeatureVectorizer", {"inputdimensions": [3, 2]}, ((F32, ("n", 3)), (F32, ("n", 2)))),
    *(Op("SVMRegressor", {**SVM, "kernel_type": k}) for k in ("LINEAR", "POLY", "RBF", "SIGMOID")),
    Op("SVMRegressor", {**SVM, "kernel_type": "RBF", "one_class": 1}),
    Op("SVMRegressor", {**SVM, "kernel_type": "RBF", "post_transform": "LOGISTIC"}),
    *(Op("SVMClassifier", {**SVC, "kernel_type": k}, outputs=(I64, F32)) for k in
      ("LINEAR", "POLY", "RBF", "SIGMOID")),
    *(Op("SVMClassifier", {**SVC, "post_transform": t}, outputs=(I64, F32)) for t in ("LOGISTIC", "SOFTMAX")),
    Op("FeatureVectorizer", {"inputdimensions": [2, 4]}, ((F32, ("n", 3)), (F32, ("n", 2)))),
    Op("FeatureVectorizer", {"inputdimensions": [3]}, ((I64, ("n", 3)),)),
    *(Op("SVMClassifier", {**SVC3, "post_transform": t}, outputs=(I64, F32)) for t in ("NONE", "SOFTMAX")),
    Op("OneHotEncoder", {"cats_int64s": [-2, 0, 3]}, ((I64, ("n", 3)),)),
    Op("OneHotEncoder", {"cats_int64s": [-2, 0, 3]}, ((F32, ("n",)),)),
    *(Op("LinearRegressor", {"coefficients": [*THREE, *THREE], "targets": 2, "post_transform": t}) for t in
      ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")),
    *(Op("LinearRegressor", {"coefficients": THREE, "post_transform": t}) for t in ("LOGISTIC", "SOFTMAX")),
    Op("LinearRegressor", {"coefficients": THREE, "post_transform": "PROBIT"},
       more={"x0": np.array([[0.5, 0, 0], [0, 0, 0.125], [2, 0, 0]], np.float32)}),
    *(Op("TreeEnsemble", {**TREE, "post_transform": t}, as_peer=t > 2) for t in (1, 2, 3)),
    Op("SVMRegressor", {"coefficients": THREE, "n_supports": 0, "rho": [0.25], "kernel_type": "LINEAR"},
       as_peer=False),
]  # fmt: skip


@pytest.mark.parametrize("op", POSITIVE, ids=lambda op: f"{op.name}-{op.attributes}"[:60])
def test_op_becomes_ops_of_the_standard(op: Op):
    if op.gives_as_evaluated:
        feeds = [op.feeds(rows) for rows in ((1, 5) if not op.more else (1,))]
        done = check_pattern(op.model(), op.pattern, feeds, Rel(1e-5, 1e-6), times=1)
        trees = op.name == "TreeEnsemble"
        assert trees or not any(inner.name == f"onnx.{op.name}" for inner in done.walk())


@pytest.mark.parametrize("op", POSITIVE, ids=lambda op: f"{op.name}-{op.attributes}"[:60])
def test_compiled_it_gives_what_onnxruntime_gives_without_steps_in_python(op: Op):
    model = compile_model(op.model(), CompileOptions(cache=False))
    feeds = op.feeds()
    found = model.run(feeds)
    assert model.host_steps == 0
    if not op.as_peer:
        return
    theirs = ort.InferenceSession(op.model().SerializeToString()).run(None, feeds)
    for ours, wanted in zip(found.values(), theirs, strict=True):
        assert ours.dtype == wanted.dtype
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


NEGATIVE = [
    (Op("Scaler", {"offset": THREE, "scale": [1.0]}, ((F32, ("n", 3, 3)),)), "not known to be rows"),
    (Op("Scaler", {"offset": [1.0, 2.0], "scale": [1.0]}), "offset has neither one number nor one per"),
    (Op("Scaler", {"offset": [1.0]}), "scale has neither one number nor one per"),
    (Op("Normalizer", {"norm": "L3"}), "the norm is L3"),
    (Op("Normalizer", {"norm": "L1"}, ((F32, (3,)),)), "not known to be rows"),
    (Op("LinearRegressor", {"coefficients": THREE}, ((F32, (3,)),)), "not known to be rows"),
    (Op("LinearRegressor", {"coefficients": THREE[:2]}), "not one coefficient per target and feature"),
    (Op("LinearRegressor", {"coefficients": [*THREE, 1.0]}), "not one coefficient per target and feature"),
    (Op("LinearRegressor", {"coefficients": THREE}, ((F32, ("n", "m")),)), "not one coefficient per"),
    (Op("LinearRegressor", {"coefficients": THREE, "intercepts": [1.0, 2.0]}), "neither one intercept nor"),
    (Op("LinearRegressor", {"coefficients": THREE, "post_transform": "SOFT"}), "what follows is SOFT"),
    (Op("LinearClassifier", CLASSES, ((F32, (3,)),), (I64, F32)), "not known to be rows"),
    (Op("LinearClassifier", {**CLASSES, "intercepts": None}, outputs=(I64, F32)), "no intercepts"),
    (Op("LinearClassifier", {**CLASSES, "coefficients": THREE}, outputs=(I64, F32)), "fewer coefficients"),
    (Op("LinearClassifier", {**CLASSES, "classlabels_ints": [1]}, outputs=(I64, F32)), "one label per class"),
    (Op("LinearClassifier", {**BINARY, "post_transform": "PROBIT"}, outputs=(I64, F32)), "is PROBIT"),
    (Op("LinearClassifier", {**CLASSES, "post_transform": "SOFT"}, outputs=(I64, F32)), "follows is SOFT"),
    (Op("Binarizer", {"threshold": 1.0}, ((I64, ("n", 3)),), (I64,)), "neither f32 nor f64"),
    (Op("ArrayFeatureExtractor", {}, ((F32, ()), (I64, (2,)))), "not known to have a dim"),
    (Op("Imputer", MISSING, ((F32, (2, 3, 3)),)), "not known to be rows"),
    (Op("Imputer", MISSING, ((I64, ("n", 3)),), (I64,)), "neither one imputed value nor one per feature"),
    (Op("Imputer", {**MISSING, "imputed_value_floats": [1.0, 2.0]}), "neither one imputed value nor"),
    (Op("FeatureVectorizer", {"inputdimensions": [1]}, ((F32, ("n",)),)), "not known to be rows"),
    (Op("FeatureVectorizer", {"inputdimensions": [1]}, ((F32, ("n", "m")),)), "not known to be rows"),
    (Op("FeatureVectorizer", {"inputdimensions": [3, 3]}), "one dimension per input"),
    (Op("SVMRegressor", SVM, ((F32, (3,)),)), "not known to be rows"),
    (Op("SVMRegressor", {**SVM, "coefficients": [1.0]}), "not one coefficient per support vector"),
    (Op("SVMRegressor", SVM, ((F32, ("n", "m")),)), "not one coefficient per support vector"),
    (Op("SVMRegressor", {**SVM, "support_vectors": THREE}), "do not have as many features"),
    (Op("SVMRegressor", {k: v for k, v in SVM.items() if k != "rho"}), "there is no rho"),
    (Op("SVMRegressor", {**SVM, "kernel_type": "COSINE"}), "the kernel is COSINE"),
    (Op("SVMRegressor", {**SVM, "kernel_type": "RBF", "kernel_params": [1.0]}), "no gamma, coef0 and degree"),
    (Op("OneHotEncoder", {"cats_strings": ["a"]}, ((TensorProto.STRING, ("n",)),)), "are no numbers"),
    (Op("OneHotEncoder", {"cats_strings": ["a"]}), "are no numbers"),
    (Op("OneHotEncoder", {"cats_int64s": [1, 2], "zeros": 0}), "are an error"),
    *((Op("SVMClassifier", {**SVC, **changes}, outputs=(I64, F32)), reason) for changes, reason in (
        ({"prob_a": [1.0], "prob_b": [0.0]}, "gives probabilities"),
        ({"classlabels_ints": [1]}, "there are fewer than two classes"),
        ({"classlabels_ints": [1, 2, 3]}, "one coefficient per support vector"),
        ({"post_transform": "PROBIT"}, "is PROBIT"),
        ({"post_transform": "SOFT"}, "is SOFT"),
        ({"vectors_per_class": None}, "no support vectors"),
        ({"vectors_per_class": [2]}, "one coefficient per support vector"),
        ({"coefficients": [1.0]}, "one coefficient per support vector"),
        ({"rho": [1.0, 2.0]}, "one coefficient per support vector"),
        ({"support_vectors": THREE}, "do not have as many features"),
        ({"kernel_type": "COSINE"}, "the kernel is COSINE"),
        ({"kernel_type": "RBF", "kernel_params": [1.0]}, "lacks gamma, coef0 and degree"),
    )),
    (Op("SVMClassifier", SVC, ((F32, (3,)),), (I64, F32)), "not known to be rows"),
    (Op("SVMClassifier", SVC, ((F32, ("n", "m")),), (I64, F32)), "the features are not known"),
    (Op("TreeEnsemble", TREE), "nothing follows"),
    (Op("TreeEnsemble", {**TREE, "post_transform": 9}), "nothing follows"),
    (Op("TreeEnsemble", {**TREE, "post_transform": 2, "n_targets": None}), "number of targets"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "reason"), NEGATIVE, ids=lambda value: getattr(value, "name", None))
def test_op_stays(op: Op, reason: str):
    assert reason in decline_reason(import_model(op.model()), op.pattern)
