"""What do ops that choose among elements have in common? Orders, sorts, and places of what was chosen."""
