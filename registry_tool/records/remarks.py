"""How the remarks in a row's notes start that the tool wrote itself; all others are people's."""

COMPUTED = "computed: "
"""What follows from the page and the run; a rule may compute it again."""
SWEPT = "swept: "
REFUSED = "does not place with more tiles: "
"""What was measured: the next run of the row replaces it."""
OF_THE_TOOL = (COMPUTED, SWEPT, REFUSED)
