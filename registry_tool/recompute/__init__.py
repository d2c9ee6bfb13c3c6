"""Running emulated verdicts again, and computing again what a CPU can of those from hardware."""
