"""How far back is a mask looked at?"""

from __future__ import annotations

import pytest
from rewriting import index_of, value

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.patterns.attention.hidden_rows import hides_no_row


@pytest.mark.parametrize(("steps", "expected"), [(5, True), (20, False)])
def test_a_mask_of_many_steps_may_hide_a_row(steps: int, expected: bool):
    chain = "\n".join(
        f'%m{i + 1} = "onnx.Identity"(%m{i}) : (tensor<3x4xf32>) -> tensor<3x4xf32>' for i in range(steps)
    )
    module = parse_module(f"""
    func.func @f(%b: tensor<3x4xi1>) -> tensor<3x4xf32> {{
      %m0 = "onnx.Cast"(%b) <{{to = 1 : si64}}> : (tensor<3x4xi1>) -> tensor<3x4xf32>
      {chain}
      onnx.Return %m{steps} : tensor<3x4xf32>
    }}""")
    assert hides_no_row(index_of(module), value(module, f"m{steps}")) == expected
