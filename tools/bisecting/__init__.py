"""Finding the first rewrite, pass or kernel that makes a model compute something else."""
