"""`plan_arena`: addresses for everything that a schedule stores."""

import logging
from math import isnan
from operator import index

from ckschedule.arena.arena import Arena, blocks_at
from ckschedule.arena.best_fit import Blocks, best_fit
from ckschedule.arena.checking import fault_of
from ckschedule.arena.exact import pack_exactly
from ckschedule.arena.lifetimes import InPlace, lifetimes_of
from ckschedule.errors import InvalidSettingError, SolverFaultError
from ckschedule.result import Stop
from ckschedule.schedule import Schedule
from ckschedule.simulation import Model, simulate
from ckschedule.units import INT64_MAX

_log = logging.getLogger(__name__)


def plan_arena(
    model: Model,
    schedule: Schedule,
    *,
    exact: bool = False,
    alignment: int = 1,
    time_limit: float = 10.0,
    inplace: InPlace = (),
) -> Arena:
    """Return one range of addresses that holds all that a schedule stores.

    Parameters
    ----------
    model
        Chain or graph.
    schedule
        A legal schedule for it.
    exact
        Search for the smallest arena and a proof, beyond best fit.
    alignment
        Bytes, of which every address is a multiple, such as 512 for CUDA.
    time_limit
        Seconds that the exact search may take.
    inplace
        Nodes that may write an output over an input which nothing reads afterwards, by
        name, or a function that tells by name. Models do not say which operations can.

    Returns
    -------
    Arena
        Checked by code that does not know how the blocks were placed.

    Raises
    ------
    InvalidScheduleError
        If the schedule is illegal for the model.
    InvalidSettingError
        If the alignment is below 1 or makes the blocks too large to be counted, the
        time limit is negative, or ``inplace`` names a node that the graph does not
        have.

    Notes
    -----
    Best fit looks at the pairs of blocks that live together, once for each of a few
    orders; the exact search is exponential and ends with what it has when its time is
    over. A schedule's peak of live bytes bounds the arena from below, but some need
    more.

    Examples
    --------
    >>> import ckschedule as ck
    >>> chain = ck.catalog.uniform(stages=8, saved=2)
    >>> schedule = ck.solve(chain, "60%").raise_for_status().schedule
    >>> arena = ck.plan_arena(chain, schedule)
    >>> arena.size, arena.live_peak
    (16, 16)
    """
    alignment = _as_alignment(alignment)
    if isnan(time_limit) or time_limit < 0:
        raise InvalidSettingError(
            f"time_limit is {time_limit}; give seconds, zero or more"
        )
    trace = simulate(model, schedule)
    lifetimes = lifetimes_of(trace, inplace)
    first, last, size = lifetimes.storages
    # Whole units: a block's padding is part of it.
    units = -(-size // min(alignment, INT64_MAX))
    if alignment * sum(units.tolist()) > INT64_MAX:
        raise InvalidSettingError(
            f"alignment is {alignment}: {len(units)} blocks padded to it pass 2**63 - "
            f"1 bytes, the most that can be counted"
        )
    blocks = Blocks(first=first, last=last, size=units, end=lifetimes.end)
    packing = best_fit(blocks)
    bound, stop = int(blocks.load.max(initial=0)), Stop.FINISHED
    if exact:
        proved = pack_exactly(blocks, packing, time_limit)
        packing, bound, stop = proved.packing, proved.bound, proved.stop
    arena = Arena(
        model=model,
        trace=trace,
        blocks=blocks_at(trace, lifetimes, packing.offset * alignment),
        size=packing.height * alignment,
        lower_bound=bound * alignment,
        alignment=alignment,
        inplace=lifetimes.inplace,
        method=packing.method,
        stop=stop,
    )
    fault = fault_of(arena)
    if fault is not None:
        raise SolverFaultError(f"{packing.method} made a wrong map: {fault}")
    _log.info("%s", arena)
    return arena


def _as_alignment(alignment: int) -> int:
    try:
        given = index(alignment)
    except TypeError:
        given = 0
    if isinstance(alignment, bool) or given < 1:
        raise InvalidSettingError(
            f"alignment is {alignment!r}; give a whole number of bytes, at least 1"
        )
    return given
