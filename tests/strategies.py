"""Hypothesis strategies: valid models by construction, shrinking to few stages."""

from hypothesis import strategies as st

from ckschedule.costs import Chain, Stage, StaticMemory, Variant


@st.composite
def stages(
    draw: st.DrawFn, *, upstream: int, last: bool, largest: int, variants: int
) -> Stage:
    """A stage with a backward that yields ``upstream`` bytes for its input."""
    number = st.integers(0, largest)
    output = draw(number)
    gradient = 0 if last else draw(st.sampled_from([output, draw(number)]))
    parameters = draw(st.sampled_from([0, 0, draw(number)]))
    forward = draw(number)
    recorded = []
    for k in range(draw(st.integers(1, variants))):
        saved = draw(number)
        least = max(0, upstream + parameters - saved - gradient)
        recorded.append(
            Variant(
                name=f"v{k}",
                saved=saved,
                backward=draw(number),
                forward=draw(st.sampled_from([forward, draw(number)])),
                needs_input=draw(st.booleans()),
                needs_output=draw(st.booleans()),
                forward_transient=output + saved + draw(number),
                backward_transient=least + draw(number),
            )
        )
    return Stage(
        output=output,
        gradient=gradient,
        parameter_gradient=parameters,
        forward=forward,
        transient=output + draw(number),
        variants=tuple(recorded),
    )


@st.composite
def chains(
    draw: st.DrawFn,
    *,
    min_stages: int = 2,
    max_stages: int = 8,
    largest: int = 6,
    variants: int = 2,
    frozen: bool = True,
) -> Chain:
    """A chain with every feature: flags, variants, transients, gradients, a prefix.

    ``min_stages`` and ``max_stages`` count the loss.
    """
    number = st.integers(0, largest)
    n = draw(st.integers(max(2, min_stages), max_stages))
    prefix = draw(st.integers(0, n - 1)) if frozen and draw(st.booleans()) else 0
    size = draw(number)
    wanted = prefix == 0 and draw(st.booleans())
    upstream = size if wanted else 0
    sequence: list[Stage] = []
    for i in range(n):
        if i < prefix:
            output = draw(number)
            sequence.append(
                Stage(
                    output=output,
                    forward=draw(number),
                    transient=output + draw(number),
                )
            )
            continue
        sequence.append(
            draw(
                stages(
                    upstream=upstream,
                    last=i == n - 1,
                    largest=largest,
                    variants=variants,
                )
            )
        )
        upstream = sequence[-1].gradient or 0
    return Chain(
        input=size,
        stages=sequence[:-1],
        loss=sequence[-1],
        input_gradient=wanted,
        static=StaticMemory(parameters=draw(number)),
        time_unit="step",
    )
