"""In which order do the ops of a block run?

| module | answers |
|---|---|
| `schedule.py` | what may come before what, and how many bytes are alive at most in a given order? |
| `candidates.py` | which orders are worth a look? |
| `reorder_for_memory.py` | the pass `reorder-for-memory` |
"""
