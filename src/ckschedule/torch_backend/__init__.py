"""Running schedules on real torch models: profile, apply, measure, verify.

The extra ``ckschedule[torch]`` installs what this package needs.
"""

from ckschedule.errors import MissingDependencyError

try:
    import torch  # noqa: F401 - asked for here so that the message can name the way out
except ImportError as error:
    raise MissingDependencyError(
        "this needs torch, which is not installed; pip install 'ckschedule[torch]'"
    ) from error

from ckschedule.torch_backend.applying import apply as apply
from ckschedule.torch_backend.applying import execute as execute
from ckschedule.torch_backend.applying import plan_of as plan_of
from ckschedule.torch_backend.applying import unapply as unapply
from ckschedule.torch_backend.auto import auto_checkpoint as auto_checkpoint
from ckschedule.torch_backend.checks import Check as Check
from ckschedule.torch_backend.measuring import Measurement as Measurement
from ckschedule.torch_backend.measuring import measure as measure
from ckschedule.torch_backend.profiling.profile import profile as profile
from ckschedule.torch_backend.stepping import measure_plain as measure_plain
from ckschedule.torch_backend.stepping import measure_step as measure_step
from ckschedule.torch_backend.verifying import Verification as Verification
from ckschedule.torch_backend.verifying import verify as verify
