"""`assert_switch_matters` notices switches that do nothing for a model."""

from __future__ import annotations

from typing import Any

import pytest
from text_models import model_of

from onnxloom.lowering.compile import CompileOptions
from onnxloom.testing import assert_switch_matters

CHAIN = model_of("agraph (float[N, 8] x) => (float[N, 8] y) { a = Neg(x) b = Exp(a) y = Abs(b) }")
SINGLE = model_of("agraph (float[N, 8] x) => (float[N, 8] y) { y = Exp(x) }")


def test_fusion_matters_for_a_chain() -> None:
    assert_switch_matters(CHAIN, fuse=False)
    assert_switch_matters(CHAIN, skip_passes=("fuse-ops",))
    assert_switch_matters(CHAIN, disabled_kinds=("onnx.elementwise",))


@pytest.mark.parametrize("switch", [{"fuse": False}, {"skip_passes": ("fuse-ops",)}, {"threads": 2}])
def test_a_switch_without_effect_fails(switch: dict[str, Any]) -> None:
    name = next(iter(switch))
    with pytest.raises(AssertionError, match=f"{name}=.* changes neither the IR nor the plan of the model"):
        assert_switch_matters(SINGLE, **switch)


def test_a_pattern_matters_where_it_fires() -> None:
    turned = model_of("""agraph (float[2, 3] x) => (float[2, 3] y) {
      a = Transpose <perm = [1, 0]> (x) b = Neg(a) c = Transpose <perm = [1, 0]> (a) y = Add(c, x)
    }""")
    assert_switch_matters(turned, skip_patterns=("TransposeTranspose",))
    with pytest.raises(AssertionError, match="skip_patterns=.* changes neither"):
        assert_switch_matters(turned, skip_patterns=("ClipClip",))


def test_the_other_options_are_kept() -> None:
    with pytest.raises(AssertionError, match="changes neither"):
        assert_switch_matters(CHAIN, CompileOptions(opt_level=0), fuse=False)


def test_a_change_of_the_plan_alone_matters() -> None:
    """Static input shapes are no part of the optimized IR here: they are fixed when the program is made."""
    assert_switch_matters(SINGLE, input_shapes=((2, 8),))


def test_a_call_without_a_switch_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="no switch is given"):
        assert_switch_matters(CHAIN)
    with pytest.raises(TypeError):
        assert_switch_matters(CHAIN, no_such_option=1)
