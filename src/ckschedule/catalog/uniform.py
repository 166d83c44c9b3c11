"""Uniform chains: equal stages, the model of most theorems.

In the symbols of rotor (arXiv 1911.13214): ``w_a`` is ``output``, ``w_abar`` is
``output + saved``, ``w_d`` is ``gradient``, ``u_f`` is ``forward`` and ``u_b`` is
``backward``. Revolve (Griewank and Walther 2000, doi 10.1145/347837.347846) counts
``u_f = 1`` and slots of one state.
"""

from ckschedule.catalog.arguments import as_positive
from ckschedule.costs.chain import Chain, Stage, Variant


def uniform(
    *,
    stages: int = 10,
    output: int = 1,
    saved: int = 0,
    gradient: int | None = None,
    forward: int = 1,
    backward: int = 1,
    transient: int | None = None,
    forward_transient: int | None = None,
    backward_transient: int | None = None,
    needs_input: bool = True,
    needs_output: bool = True,
) -> Chain:
    """Return a chain of equal stages before a loss of no time and no bytes.

    Parameters
    ----------
    stages
        Number of stages, the loss excluded; 1 or more.
    output
        ``w_a``: bytes of each output and of the chain's input.
    saved
        Bytes that each stage saves beyond its input and output.
    gradient
        ``w_d``: bytes of each output's gradient; None means ``output``.
    forward, backward
        Steps of each forward and of each backward.
    transient, forward_transient, backward_transient
        Bytes, as in `Stage` and `Variant`; None means their defaults.
    needs_input, needs_output
        Whether the saved tensors hold the stage's input, and its output.

    Returns
    -------
    Chain
        In ``step``, without static bytes.

    Raises
    ------
    InvalidModelError
        If ``stages`` is below 1, or a number is negative or no integer.

    Examples
    --------
    >>> chain = uniform(stages=3, saved=2)
    >>> chain.base_time
    6
    """
    stages = as_positive(stages, "uniform: stages")
    stage = Stage(
        output=output,
        forward=forward,
        gradient=gradient,
        transient=transient,
        variants=(
            Variant(
                saved=saved,
                backward=backward,
                forward_transient=forward_transient,
                backward_transient=backward_transient,
                needs_input=needs_input,
                needs_output=needs_output,
            ),
        ),
    )
    return Chain(
        name=f"uniform-{stages}",
        input=output,
        stages=(stage,) * stages,
        time_unit="step",
    )
