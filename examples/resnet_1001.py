"""What a 1,001-layer ResNet costs at every memory budget, and a plan for one of them.

The network of Chen et al. 2016 (arXiv 1604.06174), by formula: nothing is trained here.
Run ``python examples/resnet_1001.py [--budget 25%] [--picture front.png]``; a picture
needs ``pip install 'ckschedule[plot]'``.
"""

import argparse
from collections import Counter
from importlib.util import find_spec

import ckschedule as ck
from ckschedule.errors import NoScheduleError
from ckschedule.plotting import plot_front, save_plot
from ckschedule.units import format_bytes


def main() -> None:
    """Print the trade-off and a plan; draw it if matplotlib is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=1001, help="layers")
    parser.add_argument("--budget", default="25%", help="'7GiB', or a percentage")
    parser.add_argument("--picture", metavar="FILE", help="where to draw the front")
    options = parser.parse_args()

    # Activations only, as the paper counts: without the weights and their gradients.
    chain = ck.catalog.resnet(
        depth=options.depth, batch=32, image=224, optimizer="none", preactivation=True
    )
    print(chain)

    # All budgets at once: every breakpoint of the optimum, exact, from one run.
    front = ck.pareto(chain)
    print(front)
    print()
    print("budget     peak          more time   recomputations")
    for percent in (90, 50, 25, 10, 5):
        try:
            point = front.at(f"{percent}%")
        except NoScheduleError:
            print(f"{percent:>5} %   nothing fits")
            continue
        more = 100 * point.overhead / chain.base_time
        print(
            f"{percent:>5} %   {format_bytes(point.peak):<12}{more:>9.2f} %"
            f"{point.recomputations:>12,}"
        )

    # One of them as a plan, replayed by the simulator.
    point = front.at(options.budget)
    trace = ck.simulate(chain, point.schedule)
    assert (trace.peak, trace.makespan) == (point.peak, point.makespan)
    print()
    print(f"within {options.budget}: {len(point.schedule):,} operations")
    again = Counter(trace.recomputations.values())
    for more, stages in sorted(again.items()):
        print(f"{stages:>6,} stages are computed {1 + more} times")

    if options.picture is None:
        return
    if find_spec("matplotlib") is None:
        print("no picture: pip install 'ckschedule[plot]'")
        return
    save_plot(plot_front(front), options.picture)
    print(f"wrote {options.picture}")


if __name__ == "__main__":
    main()
