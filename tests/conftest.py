"""Settings of the whole suite."""

from importlib.util import find_spec

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

# Modules of doctests are imported before any test can skip itself.
collect_ignore_glob = [] if find_spec("torch") else ["torch_*", "torch_backend/*"]
