"""Is there a test for every reason to decline? Each guard is taken away once, and its tests must notice.

    python -m onnxloom.tools.testing.mutation [FILES] [--jobs 2] [--list] [--fresh]

A guard is an `if` that does nothing but decline (`guards.py`). It is made never true in a forked process that
has everything imported (`mutants.py`), where the tests of its file run (`tests_of.py`). Guards no test
notices are printed; those that cannot be noticed stand in `equivalents.txt`, each with the proof.
"""
