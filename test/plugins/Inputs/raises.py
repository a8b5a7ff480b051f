"""A plug-in that cannot be loaded."""

raise RuntimeError("not today")
