"""Why a run may have failed: what shows it, what it comes from, and what this shape allows."""
