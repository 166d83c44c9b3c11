"""Which budget to ask next: the one about which least is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ckschedule.sweeping.claims import EVERY
from ckschedule.sweeping.ledger import Ledger

_FINE: Final = 64
"""Parts of the range of budgets, below which breakpoints are looked for one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Region:
    """Budgets whose optimum is not known.

    Attributes
    ----------
    low, high
        The first and the last, bytes.
    height
        Ticks between the best schedule known there and the least to hope for.
    settled
        Whether the budgets just below are settled, with the same schedule.
    """

    low: int
    high: int
    height: int
    settled: bool = False


def named_budget(ledger: Ledger, budgets: Sequence[int]) -> int | None:
    """Return the first of some budgets whose optimum is not known and was not asked."""
    for budget in budgets:
        if budget <= ledger.infeasible or budget in ledger.asked:
            continue
        known = [f.makespan for f in ledger.found if f.peak <= budget]
        if not known or min(known) > ledger.bound(budget):
            return budget
    return None


def next_budget(ledger: Ledger) -> int | None:
    """Return the budget to ask next, in bytes; None if no question is left.

    Notes
    -----
    Between two neighbouring schedules the optimum lies in a rectangle: from the peak of
    the one to that of the other, from the makespan of the one to that of the other. The
    largest rectangle is halved in memory, which spaces the budgets by what they can
    bring. What the bounds have settled is no longer part of it. In the end, where
    budgets lie close together, the largest unsettled one is asked: its optimum is a
    breakpoint, or settles the rest.

    Linear in the schedules and answers times the bounds.
    """
    if not ledger.found:
        return None if ledger.asked else ledger.ceiling
    regions = [part for region in _regions(ledger) for part in _unasked(region, ledger)]
    if not regions:
        return None
    widest = max(regions, key=lambda r: (r.high - r.low + 1) * r.height)
    span = ledger.found[-1].peak - ledger.infeasible
    if widest.settled and (widest.high - widest.low + 1) * _FINE <= max(span, _FINE**2):
        return widest.high
    return (widest.low + widest.high) // 2


def _regions(ledger: Ledger) -> Iterator[_Region]:
    found = ledger.found
    first, last = found[0], found[-1]
    if ledger.infeasible + 1 < first.peak:
        # As steep as all the rest together, for nothing is known about it; less so
        # where questions were in vain.
        height = first.makespan - last.makespan or max(1, ledger.model.base_time)
        yield _Region(
            low=ledger.infeasible + 1,
            high=first.peak - 1,
            height=-(-height // (1 + ledger.failures)),
        )
    for slow, fast in pairwise(found):
        high = fast.peak - 1
        settled = ledger.proved_up_to(slow.makespan)
        low = max(slow.peak, settled + 1)
        if low <= high:
            hoped = max(fast.makespan, ledger.bound(high))
            yield _Region(
                low=low,
                high=high,
                height=slow.makespan - hoped,
                settled=settled >= slow.peak,
            )
    if ledger.proved_up_to(last.makespan) < EVERY and not any(
        budget >= last.peak for budget in ledger.asked
    ):
        # Whether more memory would be of use is asked once, with no limit to it.
        yield _Region(
            low=ledger.ceiling,
            high=ledger.ceiling,
            height=max(1, last.makespan - ledger.bound(EVERY)) * ledger.ceiling,
        )


def _unasked(region: _Region, ledger: Ledger) -> Iterator[_Region]:
    """Yield the parts between budgets that were asked already.

    What was not found within one budget is not to be hoped for within a smaller one:
    only the last part has a height, the others are asked when all else is known.
    """
    asked = sorted(b for b in ledger.asked if region.low <= b <= region.high)
    for before, after in pairwise([region.low - 1, *asked, region.high + 1]):
        if before + 1 < after:
            yield _Region(
                low=before + 1,
                high=after - 1,
                height=region.height if after > region.high else 0,
                settled=region.settled and not asked,
            )
