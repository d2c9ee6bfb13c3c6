"""A registry's rows in the forms that its neighbours read; nothing is printed or written here."""
