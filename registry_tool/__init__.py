"""registry-tool: a git-native manager for a registry of verified compute kernels."""

__version__ = "0.1.0"
