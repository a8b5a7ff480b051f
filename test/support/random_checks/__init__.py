"""Do passes, export and kernels keep what random graphs compute? Checks, and what a failure is kept as."""
