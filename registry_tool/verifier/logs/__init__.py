"""Reading what a harness printed, and judging it: no process, no file but the log."""
