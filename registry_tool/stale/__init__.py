"""Which rows stand on evidence that has moved: harness or kernel sources, or the toolchain."""
