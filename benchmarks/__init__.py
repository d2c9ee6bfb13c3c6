"""The budgets of the design, measured as ratios against named peers in the same run."""
