"""Write rows' verdicts as in-toto Statements (test-result predicate), for other tools to read."""
