"""Control flow that is decided before the model runs.

| module | pass |
|---|---|
| `decide_by_rank.py` | `decide-by-rank`: conditions that only a run which fails could answer otherwise |
| `inline_if.py` | `inline-if`: an If whose condition is known becomes its branch |
| `unroll_loops.py` | `unroll-loops`: a Loop of few, known iterations becomes their ops |
| `forward_loop_invariants.py` | `forward-loop-invariants`: values no iteration changes are read directly |
| `hoist_loop_invariants.py` | `hoist-loop-invariants`: ops that compute the same each time move out |
"""
