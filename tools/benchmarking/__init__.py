"""How fast is a model, compared with whom, and what bounds it? Behind `bench`, `--profile` and `--plan`."""
