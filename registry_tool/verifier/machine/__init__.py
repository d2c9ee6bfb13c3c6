"""What surrounds a run: device, toolchain, environment, and the files of the harness."""
