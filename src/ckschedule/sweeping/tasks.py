"""`sweep`: many models by budgets by solvers, here or on a cluster."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ckschedule.costs.device import Device
from ckschedule.errors import InvalidSettingError, MissingDependencyError
from ckschedule.result import Result, Stop
from ckschedule.simulation import Model, as_graph
from ckschedule.solvers.base import AbstractSolver
from ckschedule.solvers.deadline import Deadline
from ckschedule.solving import as_solver, solve
from ckschedule.units import Budget

Build: TypeAlias = Callable[..., Model]
"""Returns a model; takes ``device=``, as the catalogue's formulas do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRecord:
    """One question of a sweep and what came of it.

    Attributes
    ----------
    model
        Its name in the sweep.
    device
        Name of the device that its times are for; None if there was no choice.
    budget
        As it was given.
    solver
        Name and settings, as they were given.
    result
        The answer; None if there was an error.
    error
        Type and message of the exception that came instead; None if there was none.
    seconds
        Wall time of the solve. Two records are equal whatever it says.
    """

    model: str
    device: str | None
    budget: Budget
    solver: str
    result: Result | None
    error: str | None
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    index: int
    name: str
    device: str | None
    model: Model
    budget: Budget
    solver: AbstractSolver


def sweep(
    models: Mapping[str, Model | Build] | Iterable[Model],
    budgets: Iterable[Budget],
    *,
    solvers: Iterable[AbstractSolver] | None = None,
    devices: Iterable[str | Device] | None = None,
    jobs: int | None = None,
    on_record: Callable[[SweepRecord], None] | None = None,
) -> tuple[SweepRecord, ...]:
    """Return the answers to all combinations of models, devices, solvers and budgets.

    Parameters
    ----------
    models
        By names of your choice, or models whose own names differ. With ``devices``,
        functions that take ``device=`` and return a model: ``ck.catalog.vgg``, or
        ``functools.partial(ck.catalog.resnet, depth=152)``.
    budgets
        As for `solve`. Percentages are of each model's own peak.
    solvers
        With their settings; None means `AutoSolver` alone.
    devices
        Names or `Device` values to build every model for; None leaves the choice to the
        models.
    jobs
        Processes to use on this machine, -1 for one per core; needs joblib, in
        ``ckschedule[cluster]``. None runs in this process, or wherever the joblib
        backend computes that you have entered: ``joblib.parallel_config("dask")`` with
        a Dask client is a cluster.
    on_record
        Told of each record as soon as it is there, in any order; called in this
        process.

    Returns
    -------
    tuple of SweepRecord
        In the order of models, devices, solvers, budgets. An exception of one question,
        such as a budget that cannot be read or a solver that refuses a model, is its
        record's ``error`` and leaves the others alone. After Ctrl-C in this process,
        the records so far; on other backends joblib raises `KeyboardInterrupt`.

    Raises
    ------
    InvalidModelError
        If a model is none, or a function's device or settings cannot be meant.
    InvalidSettingError
        If a solver or ``jobs`` cannot be meant, two models share a name, or ``devices``
        are given to a model that is built already.
    MissingDependencyError
        If ``jobs`` asks for processes and joblib is not installed.

    Notes
    -----
    Each question is a task of its own. When a worker of a Dask cluster dies, its tasks
    start again on another one; what was finished is not repeated. joblib's own
    processes do not survive such a death: ``on_record`` has got what was finished.

    Examples
    --------
    >>> import ckschedule as ck
    >>> chain = ck.catalog.uniform(stages=8, saved=2)
    >>> for record in ck.sweep({"eight": chain}, ["60%", "half"]):
    ...     print(record.budget, record.result or record.error.split(";")[0])
    60% optimal within 16 B among persistent schedules: peak 16 B, 20 step, +25.00% over computing everything once
    half InvalidBudgetError: budget 'half' cannot be read
    """  # noqa: E501  # one line of output
    named = list(_named(models, None if devices is None else list(devices)))
    chosen = [as_solver(solver) for solver in ([None] if solvers is None else solvers)]
    limits = list(budgets)
    questions = [
        (name, device, model, solver, budget)
        for name, device, model in named
        for solver in chosen
        for budget in limits
    ]
    tasks = [
        _Task(
            index=index,
            name=name,
            device=device,
            model=model,
            budget=budget,
            solver=solver,
        )
        for index, (name, device, model, solver, budget) in enumerate(questions)
    ]
    records: dict[int, SweepRecord] = {}
    for index, found in _answers(tasks, jobs):
        record = records[index] = _at_home(found, tasks[index].model)
        if on_record is not None:
            on_record(record)
    return tuple(records[index] for index in sorted(records))


def _named(
    models: Mapping[str, Model | Build] | Iterable[Model],
    devices: Sequence[str | Device] | None,
) -> Iterator[tuple[str, str | None, Model]]:
    """Yield name, device and model, every model built and checked."""
    if not isinstance(models, Mapping):
        given = list(models)
        for model in given:
            as_graph(model)
        models = {model.name: model for model in given}
        if len(models) < len(given):
            names = [model.name for model in given]
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidSettingError(
                f"sweep: two models have the name {twice!r}; give a mapping from names "
                f"to models"
            )
    for name, entry in models.items():
        if devices is None:
            built = entry() if callable(entry) else entry
            as_graph(built)
            yield name, None, built
            continue
        if not callable(entry):
            raise InvalidSettingError(
                f"sweep: devices are given, but the model {name!r} is built already; "
                f"give a function that takes device=, such as catalog.resnet"
            )
        for device in devices:
            built = entry(device=device)
            as_graph(built)
            yield name, device if isinstance(device, str) else device.name, built


def _answers(
    tasks: Sequence[_Task], jobs: int | None
) -> Iterator[tuple[int, SweepRecord]]:
    """Yield positions and records as they come."""
    whole = isinstance(jobs, int) and not isinstance(jobs, bool)
    if jobs is not None and (not whole or jobs == 0):
        raise InvalidSettingError(
            f"sweep: jobs is {jobs!r}; give a number of processes, -1 for all cores, "
            f"or None"
        )
    # Whoever has entered a backend of joblib has imported it.
    if jobs == 1 or (jobs is None and "joblib" not in sys.modules):
        yield from _here(tasks)
        return
    joblib = _joblib()
    # One task a batch: what is finished is told at once, and never repeated because a
    # neighbour in its batch was lost.
    parallel = joblib.Parallel(
        n_jobs=jobs, batch_size=1, return_as="generator_unordered"
    )
    yield from parallel(joblib.delayed(_answer)(task) for task in tasks)


def _at_home(record: SweepRecord, model: Model) -> SweepRecord:
    """Return a record that refers to the caller's model.

    From another process each comes with a copy of its own: a thousand records of one
    large graph would fill the memory.
    """
    result = record.result
    if result is None or result.model is model:
        return record
    trace = result.trace
    if trace is not None:
        trace = replace(trace, graph=as_graph(model))
    return replace(record, result=replace(result, model=model, trace=trace))


def _here(tasks: Sequence[_Task]) -> Iterator[tuple[int, SweepRecord]]:
    with Deadline() as deadline:
        for task in tasks:
            index, record = _answer(task)
            yield index, record
            result = record.result
            stopped = result is not None and result.stop is Stop.INTERRUPTED
            if deadline.interrupted or stopped:
                return


def _joblib() -> Any:
    try:
        import joblib
    except ImportError as error:
        raise MissingDependencyError(
            "sweep with jobs needs joblib, which is not installed; run "
            "pip install 'ckschedule[cluster]', or leave jobs out"
        ) from error
    return joblib


def _answer(task: _Task) -> tuple[int, SweepRecord]:
    """Return a task's position and record; runs wherever the backend computes."""
    start = time.monotonic()
    result, error = None, None
    try:
        result = solve(task.model, task.budget, task.solver)
    except Exception as caught:
        # Whatever it is, a fault of a foreign solver too: it goes into the record, and
        # hours of other answers are not lost for it.
        error = f"{type(caught).__name__}: {caught}"
    return task.index, SweepRecord(
        model=task.name,
        device=task.device,
        budget=task.budget,
        solver=repr(task.solver),
        result=result,
        error=error,
        seconds=time.monotonic() - start,
    )
