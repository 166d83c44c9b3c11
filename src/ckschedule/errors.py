"""Every exception that ckschedule raises on purpose, as one tree.

::

    CkscheduleError
    ├── InvalidModelError (ValueError)        a cost model that cannot be meant
    ├── InvalidBudgetError (ValueError)       a budget that cannot be read
    ├── InvalidSettingError (ValueError)      a setting that a solver cannot have
    ├── InvalidScheduleError (ValueError)     a schedule the simulator refuses
    ├── DocumentError (ValueError)            a file that cannot be read or trusted
    ├── UnsupportedModelError (ValueError)    a model this solver cannot take
    ├── PlanMismatchError (ValueError)        a plan made for another torch model
    ├── UnfaithfulStageError (RuntimeError)   a stage that cannot be repeated exactly
    ├── VerificationError (RuntimeError)      a plan that was tried and did not hold
    ├── ResourceLimitError (RuntimeError)     work past a limit the caller can raise
    ├── NoScheduleError (RuntimeError)        `Result.raise_for_status` found none
    ├── SolverFaultError (RuntimeError)       a solver's claim the simulator refutes
    └── MissingDependencyError (ImportError)  an optional package is not installed

Misuse raises; an outcome such as "nothing fits" is a `Status`, not an exception.
"""

from functools import partial


class CkscheduleError(Exception):
    """Base of all errors raised by this package."""


class InvalidModelError(CkscheduleError, ValueError):
    """A chain, graph or device whose numbers or names cannot be meant."""


class InvalidBudgetError(CkscheduleError, ValueError):
    """A memory budget that cannot be read."""


class InvalidSettingError(CkscheduleError, ValueError):
    """A setting, a number of steps or slots, or a solver that cannot be meant."""


class InvalidScheduleError(CkscheduleError, ValueError):
    """A schedule that the simulator refuses.

    Attributes
    ----------
    index
        Index of the refused operation; the schedule's length when its end is refused.
    caused_by
        Index of the earlier operation that made it illegal, or None if there is none.
    """

    def __init__(
        self, message: str, *, index: int, caused_by: int | None = None
    ) -> None:
        super().__init__(message)
        self.index = index
        self.caused_by = caused_by

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are rebuilt from positional arguments; the index is a keyword.
        rebuild = partial(type(self), index=self.index, caused_by=self.caused_by)
        return rebuild, self.args, self.__dict__


class DocumentError(CkscheduleError, ValueError):
    """A file that cannot be read, or whose contents contradict themselves."""


class UnsupportedModelError(CkscheduleError, ValueError):
    """A model with a feature that the chosen solver cannot take."""


class PlanMismatchError(CkscheduleError, ValueError):
    """A plan that does not fit the torch model; the message says what differs."""


class UnfaithfulStageError(CkscheduleError, RuntimeError):
    """A stage of a torch model that could not be computed again with equal results.

    Raised before any gradient that might be wrong reaches the caller.
    """


class VerificationError(CkscheduleError, RuntimeError):
    """A plan that was run on its model and did not hold what it promised."""


class ResourceLimitError(CkscheduleError, RuntimeError):
    """Work that would pass a limit; the message names the setting that raises it."""


class NoScheduleError(CkscheduleError, RuntimeError):
    """No schedule to return, from `Result.raise_for_status` and `ParetoFront.at`."""


class SolverFaultError(CkscheduleError, RuntimeError):
    """A solver's claim that the simulator refutes: a fault in the solver."""


class MissingDependencyError(CkscheduleError, ImportError):
    """An optional package that the called function needs is not installed."""
