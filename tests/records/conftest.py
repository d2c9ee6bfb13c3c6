"""Property tests that do not fail because the machine is busy."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "registry-tool", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("registry-tool")
