"""What tests of transforms, patterns, folding rules and fusion kinds are written with.

    from onnxloom.testing import Ulp, assert_noop, assert_preserves_numerics, assert_switch_matters, feeds_for
    from onnxloom.testing.patterns import check_pattern, decline_reason

A model is a path, a ModelProto, IR text or a ModuleOp; a transform is anything that changes a ModuleOp in
place. The reference is the host evaluation of the model before anything was changed.
"""

from __future__ import annotations

from onnxloom.lowering.evaluate_module import evaluate_module as evaluate
from onnxloom.testing.difference import Difference, difference, differences
from onnxloom.testing.feeds import feeds_for, varied_feeds
from onnxloom.testing.models import Model, as_module
from onnxloom.testing.noop import assert_noop
from onnxloom.testing.numerics import Feeds, Transform, assert_preserves_numerics
from onnxloom.testing.switches import assert_switch_matters
from onnxloom.testing.tolerance import Abs, Exact, Rel, Tolerance, Ulp, parse_tolerance

__all__ = [
    "Abs",
    "Difference",
    "Exact",
    "Feeds",
    "Model",
    "Rel",
    "Tolerance",
    "Transform",
    "Ulp",
    "as_module",
    "assert_noop",
    "assert_preserves_numerics",
    "assert_switch_matters",
    "difference",
    "differences",
    "evaluate",
    "feeds_for",
    "parse_tolerance",
    "varied_feeds",
]
