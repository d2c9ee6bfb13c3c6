"""What git's history shows that should not have happened to rows and their evidence."""
