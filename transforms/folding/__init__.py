"""Which values of a model can be told before it runs, and how do they become constants?

| module | answers |
|---|---|
| `evaluator.py` | who computes an op on arrays? `numpy_ops_*.py`: the ops numpy itself can do |
| `policy.py`, `result_size.py` | which results are too large to be kept? |
| `fold_op.py` | what does one op give for these inputs, or why not? |
| `folding_pass.py`, `folding.py` | the pass all others derive from, and one run of it over a module |
| `fold_constants.py`, `fold_dimensions.py`, `adjust_dimensions.py`, `replace_empty.py` | one pass each |
| `potential.py` | values that are known before all inputs are |
"""
