"""Chen et al. 2016 beside the exact optimum: a 1,001-layer ResNet and a long LSTM.

Run ``python bench/chen2016.py [-o results.json]``. The paper's figures are those of its
abstract and text (arXiv 1604.06174): 48 GB without recomputation, 7 GB with the
sublinear plan at about 30 % more time for the ResNet; more than four times less memory
than the best plan without recomputation for the LSTM. It counts feature maps only, and
so does ``optimizer="none"``.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import ckschedule as ck
from ckschedule.solvers.base import AbstractSolver
from ckschedule.units import format_bytes

GIB = 2**30

BASELINES: dict[str, AbstractSolver] = {
    "sqrt(n) segments": ck.SqrtSegments(),
    "Chen's budget search (Algorithm 3)": ck.ChenBudget(),
    "Chen's recursion, k = 1": ck.ChenRecursion(k=1),
    "every stage": ck.RecomputeAll(),
}


def resnet() -> ck.Chain:
    """The paper's network: pre-activation, 1,001 layers, batch 32, 224 x 224, fp32."""
    return ck.catalog.resnet(
        depth=1001,
        batch=32,
        image=224,
        preactivation=True,
        device="titan-x",
        optimizer="none",
    )


def lstm(steps: int) -> ck.Chain:
    """The paper's network: 4 layers of 1,024 cells, batch 64, unrolled over time."""
    return ck.catalog.lstm(steps=steps, device="titan-x", optimizer="none")


def study(chain: ck.Chain) -> dict[str, Any]:
    """Return the figures of one model: bytes, and overheads as ratios of store-all."""
    front = ck.pareto(chain)
    base = chain.base_time
    plain = ck.solve(chain, 2**62, ck.StoreAll())
    assert plain.peak is not None
    forward = sum(stage.forward for stage in chain.sequence)

    def point(p: ck.ParetoPoint) -> dict[str, Any]:
        return {
            "bytes": p.peak,
            "overhead": p.overhead / base,
            "recomputed forwards": p.recomputations,
        }

    within = {
        f"+{k} %": front.within_time(base * (100 + k) // 100) for k in (5, 10, 30)
    }
    rows: dict[str, Any] = {}
    for name, solver in BASELINES.items():
        result = ck.solve(chain, 2**62, solver)
        assert result.trace is not None
        best = front.at(result.trace.peak)
        rows[name] = {
            "bytes": result.trace.peak,
            "overhead": (result.trace.makespan - base) / base,
            "optimum there": point(best),
        }
    return {
        "model": chain.name,
        "stages": len(chain.sequence),
        "store all bytes": plain.peak,
        "one more forward": forward / base,
        "breakpoints": len(front),
        "minimum": point(front.minimum),
        "knee": point(front.knee),
        "at 7 GiB": point(front.at(7 * GIB)),
        "at 7 GB": point(front.at(7 * 10**9)),
        "at a quarter": point(front.at("25%")),
        **{name: None if p is None else point(p) for name, p in within.items()},
        "baselines": rows,
    }


def show(figures: dict[str, Any]) -> None:
    """Print the figures of one model."""
    print(f"{figures['model']}: {figures['stages']} stages")
    print(f"  store all: {format_bytes(figures['store all bytes'])}")
    print(f"  one more forward would cost {figures['one more forward']:.1%}")
    for name, value in figures.items():
        if isinstance(value, dict) and "bytes" in value:
            print(
                f"  {name}: {format_bytes(value['bytes'])} at "
                f"+{value['overhead']:.2%}, {value['recomputed forwards']} reruns"
            )
    for name, row in figures["baselines"].items():
        best = row["optimum there"]
        print(
            f"  {name}: {format_bytes(row['bytes'])} at +{row['overhead']:.2%}; "
            f"the optimum in that memory: +{best['overhead']:.2%}"
        )


def main() -> None:
    """Study both models and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="JSON file to write")
    output = parser.parse_args().output
    figures = [study(resnet()), study(lstm(1000))]
    for entry in figures:
        show(entry)
    if output is not None:
        output.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
