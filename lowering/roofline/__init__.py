"""What bounds the time of a kernel? What it computes and moves, over what this machine can do at most."""
