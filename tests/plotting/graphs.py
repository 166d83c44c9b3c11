"""A small graph that pictures are tested on."""

import ckschedule as ck


def diamond() -> ck.Graph:
    """Return a graph whose first node is worth computing twice."""

    def node(name: str, needs: tuple[str, ...]) -> ck.Node:
        mode = ck.Mode(name="run", time=2, outputs=(f"v{name}",), needs=needs)
        return ck.Node(name=name, modes=(mode,))

    return ck.Graph(
        values=(
            ck.Value(name="in", size=1),
            *(ck.Value(name=f"v{k}", size=4) for k in "abcd"),
        ),
        nodes=(
            node("a", ("in",)),
            node("b", ("va",)),
            node("c", ("vb",)),
            node("d", ("vc", "va")),
        ),
        inputs=("in",),
        targets=("vd",),
    )
