"""Checked kernels: every access to memory is compared with the extent of the buffer it is made in.

| file | answers |
|---|---|
| `wanted.py` | is the mode on? |
| `instrument.py` | which instructions of a module are checked, and how? |
| `pointer_bounds.py` | which buffer does a pointer lie in? |
| `check_functions.py` | what does the code of a check do? |
| `fault.py` | what does a kernel write down about an access that fails? |

`plan/checked_records.py` is what a plan knows of the buffers of its records, `runtime/checked_instance.py`
how they run. The emitters know nothing of it: checks are added to the LLVM IR that they made, that of tuned
tiles included. Without the mode no instruction and no word of a record differs.
"""
