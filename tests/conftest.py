"""Settings of the whole suite."""

from hypothesis import HealthCheck, settings

# The same examples in every run: a failure here is a failure everywhere. Deadlines
# would time the first compilation of a kernel.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("repeatable")
