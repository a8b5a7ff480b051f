"""Is there a test for every reason to decline? Each guard is taken away once, and its tests must notice.

    python -m onnxloom.tools.testing.mutation [FILES] [--jobs 2] [--list] [--fresh]

A guard is an `if` that does nothing but decline (`guards.py`). The tests around the files (`tests_of.py`)
run once with all guards in place, to see which test makes which guard decline (`reach.py`). Then each guard
is made never true in a forked process that has everything imported (`mutants.py`), where its tests run
(`runner.py`). Guards no test notices are printed; those that cannot be noticed stand in `equivalents.txt`,
each with the proof.
"""
