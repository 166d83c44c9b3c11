"""Random training graphs, small enough for the oracle."""

from hypothesis import strategies as st

from ckschedule import Graph, Mode, Node, StaticMemory, Value


@st.composite
def training_graphs(
    draw: st.DrawFn,
    *,
    forwards: int = 4,
    backwards: bool = True,
    once: bool = False,
    special: bool = False,
) -> Graph:
    """A forward graph with skips, and a backward node for each forward one.

    A backward node reads its forward value and the gradients of its readers; some read
    other forward values, too. ``once`` makes backward nodes run once; ``special`` adds
    transients, values that stay, and forward nodes that run once.
    """
    n = draw(st.integers(2, forwards))
    reads: list[list[str]] = [
        sorted({f"f{v - 1}"} | ({f"f{draw(st.integers(0, v - 1))}"})) if v else []
        for v in range(n)
    ]
    names = [f"f{v}" for v in range(n)]
    if backwards:
        for v in reversed(range(n)):
            gradients = [f"b{w}" for w in range(v + 1, n) if f"f{v}" in reads[w]]
            other = f"f{draw(st.integers(0, n - 1))}"
            reads.append(
                list(dict.fromkeys([f"f{v}", *gradients, draw(st.just(other))]))
            )
            names.append(f"b{v}")
    sizes = [draw(st.integers(0, 4)) for _ in names]
    times = [draw(st.integers(0, 4)) for _ in names]
    nodes = []
    for i, (name, row) in enumerate(zip(names, reads, strict=True)):
        rises = special and draw(st.integers(0, 3)) == 0
        nodes.append(
            Node(
                name=f"n{name}",
                modes=(
                    Mode(
                        name="run",
                        time=times[i],
                        outputs=(name,),
                        needs=tuple(row),
                        transient=sizes[i] + 2 if rises else None,
                    ),
                ),
                recomputable=not (
                    (once and name.startswith("b"))
                    or (special and draw(st.integers(0, 4)) == 0)
                ),
            )
        )
    return Graph(
        name="training",
        values=tuple(Value(name=m, size=s) for m, s in zip(names, sizes, strict=True)),
        nodes=tuple(nodes),
        targets=(names[-1],),
        kept=tuple(m for m in names if special and draw(st.integers(0, 5)) == 0),
        static=StaticMemory(parameters=3 if special else 0),
        time_unit="step",
    )
