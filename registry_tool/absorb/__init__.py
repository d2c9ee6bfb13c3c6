"""Carrying what people wrote into generated tables back into the rows; nothing is printed here."""
