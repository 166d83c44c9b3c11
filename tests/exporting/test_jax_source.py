"""Exported JAX modules trace stages as often as scheduled, and change no gradient."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import chains

import ckschedule as ck
from ckschedule.exporting import export

jax: Any = pytest.importorskip("jax", reason="jax is not installed: pip install jax")
jnp: Any = jax.numpy


def load(source: str) -> Callable[[Any, Any], Any]:
    scope: dict[str, Any] = {}
    exec(compile(source, "<exported>", "exec"), scope)
    run: Callable[[Any, Any], Any] = scope["run"]
    return run


def plain(stages: list[Callable[[Any], Any]], x: Any) -> Any:
    for stage in stages:
        x = stage(x)
    return x


def stage(weight: Any, x: Any) -> Any:
    return jnp.tanh(x @ weight)


class Toys:
    """Stages ``tanh(x w)`` whose widths tell them apart in a traced program."""

    def __init__(self, chain: ck.Chain) -> None:
        make = np.random.default_rng(0)
        shapes = [(i + 2, i + 3) for i in range(len(chain.stages))]
        self.weights = [make.normal(size=s).astype(np.float32) for s in shapes]
        self.frozen = chain.frozen_prefix
        self.input = make.normal(size=(1, 2)).astype(np.float32)
        self.wants = (0, 1) if chain.input_gradient else (0,)

    def gradient(self, run: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        """Return the function that differentiates a loss of what ``run`` returns."""

        def loss(trained: Any, x: Any) -> Any:
            weights = [*self.weights[: self.frozen], *trained]
            return (run([partial(stage, w) for w in weights], x) ** 2).sum()

        gradient: Callable[..., Any] = jax.grad(loss, argnums=self.wants)
        return gradient

    @property
    def arguments(self) -> tuple[Any, Any]:
        return self.weights[self.frozen :], self.input

    def traced(self, run: Callable[[Any, Any], Any]) -> dict[str, int]:
        """Count the tanh of each stage in the differentiated program."""
        program = jax.make_jaxpr(self.gradient(run))(*self.arguments)
        found = Counter(
            equation.outvars[0].aval.shape[1] - 2
            for equation in equations(program.jaxpr)
            if equation.primitive.name == "tanh"
        )
        return {f"F{i}": n for i, n in found.items()}


def equations(program: Any) -> Iterator[Any]:
    """Yield the equations of a traced program and of all programs inside it."""
    for equation in program.eqns:
        yield equation
        for value in equation.params.values():
            inside = getattr(value, "jaxpr", value)
            if hasattr(inside, "eqns"):
                yield from equations(inside)


def close(found: Any, expected: Any) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@given(chain=chains(variants=1, max_stages=7))
@settings(max_examples=15)
def test_stages_are_traced_as_often_as_scheduled(chain: ck.Chain) -> None:
    """At the ends and the knee of the front; gradients agree."""
    front = ck.pareto(chain, solver=ck.ChainDP())
    toys = Toys(chain)
    expected = toys.gradient(plain)(*toys.arguments)
    for point in (front.minimum, front.knee, front.fastest):
        run = load(export(point, to="jax"))
        scheduled = point.trace.computations
        forwards = [f"F{i}" for i in range(1, len(chain.sequence))]
        assert toys.traced(run) == {f: scheduled[f] for f in forwards}
        close(toys.gradient(run)(*toys.arguments), expected)


def deep() -> tuple[Toys, Callable[[Any, Any], Any]]:
    """Return five stages and a ``run`` that nests four deep."""
    chain = ck.catalog.uniform(stages=5)
    result = ck.solve(chain, "100%", ck.Revolve(slots=1))
    return Toys(chain), load(export(result, to="jax"))


def test_a_compiled_gradient_agrees() -> None:
    """And the program given to the compiler has every recomputation."""
    toys, run = deep()
    compiled = jax.jit(toys.gradient(run))
    close(compiled(*toys.arguments), toys.gradient(plain)(*toys.arguments))
    assert compiled.lower(*toys.arguments).as_text().count("stablehlo.tanh") == 15


def test_debugging_callbacks_are_repeated() -> None:
    """As the docstring warns: one for each forward of the five stages."""
    toys, run = deep()
    calls: list[int] = []

    def noting(f: Callable[[Any], Any], x: Any) -> Any:
        jax.debug.callback(lambda: calls.append(0))
        return f(x)

    def noted(stages: list[Callable[[Any], Any]], x: Any) -> Any:
        return run([partial(noting, f) for f in stages], x)

    toys.gradient(noted)(*toys.arguments)
    jax.effects_barrier()
    assert len(calls) == 5 + 4 + 3 + 2 + 1


def test_stages_may_pass_on_any_tree() -> None:
    """Dicts as well as arrays."""
    _, run = deep()
    stages = [lambda tree: {"x": jnp.tanh(tree["x"])}] * 5
    x = {"x": jnp.ones(2)}
    found = jax.grad(lambda x: run(stages, x)["x"].sum())(x)
    close(found, jax.grad(lambda x: plain(stages, x)["x"].sum())(x))
    with pytest.raises(ValueError, match="4 stages given; the plan is for 5"):
        run(stages[:4], x)


ALONE = """
import sys
sys.modules["ckschedule"] = None  # importing it would fail
scope = {}
exec(compile(sys.stdin.read(), "<exported>", "exec"), scope)
import jax
def loss(x):
    return scope["run"]([jax.numpy.tanh] * 5, x)
print(str(jax.make_jaxpr(jax.grad(loss))(1.0)).count("tanh") > 0)
"""


def test_the_module_stands_alone() -> None:
    """JAX is all that it imports."""
    result = ck.solve(ck.catalog.uniform(stages=5), "100%", ck.Revolve(slots=1))
    answer = subprocess.run(
        [sys.executable, "-I", "-c", ALONE],
        input=export(result, to="jax"),
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["True"]
