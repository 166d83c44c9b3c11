"""The gradient of a long time-stepping loop in a handful of stored states.

A 1-D nonlinear advection-diffusion equation (Burgers) is stepped in time; the gradient
of the final energy with respect to the initial state needs every state in reverse.
Revolve (Griewank and Walther 2000, doi:10.1145/347837.347846) keeps a few states and
computes the others again, as seldom as possible.

Run ``python examples/time_stepping_adjoint.py [--steps 1000] [--slots 10]``.
"""

import argparse

import numpy as np
import numpy.typing as npt

from ckschedule.solvers.revolve import ADVANCE, STORE, advances, revolve_actions

State = npt.NDArray[np.float64]
"""Velocities on a periodic grid."""

DT, DX, VISCOSITY = 2e-3, 1 / 64, 2e-2


def step(u: State) -> State:
    """Return the state one time step later."""
    left, right = np.roll(u, 1), np.roll(u, -1)
    slope = (right - left) / (2 * DX)
    bend = (right - 2 * u + left) / DX**2
    return u + DT * (VISCOSITY * bend - u * slope)


def step_adjoint(u: State, after: State) -> State:
    """Return the gradient before a step from state ``u``, given that after it."""
    slope = (np.roll(u, -1) - np.roll(u, 1)) / (2 * DX)
    to_sides = VISCOSITY / DX**2 * after
    to_right, to_left = to_sides - u * after / (2 * DX), to_sides + u * after / (2 * DX)
    centre = -2 * to_sides - slope * after
    return after + DT * (centre + np.roll(to_right, 1) + np.roll(to_left, -1))


def gradient(start: State, steps: int, slots: int) -> tuple[State, int, int]:
    """Return the gradient of the final energy, steps computed, and states held."""
    stored, state, adjoint = {0: start}, start, None
    computed, most = 0, 1
    for kind, first, last in revolve_actions(steps, slots):
        if kind == ADVANCE:
            state = stored[first]
            for _ in range(first, last):
                state = step(state)
            computed += last - first
        elif kind == STORE:
            stored[last] = state
            most = max(most, len(stored))
        else:  # REVERSE: from a stored state, or from the one just reached
            before = stored.pop(first, state)
            computed += 1
            if adjoint is None:  # the energy is half the sum of squares
                adjoint = step(before)
            adjoint = step_adjoint(before, adjoint)
    assert adjoint is not None
    return adjoint, computed, most


def main() -> None:
    """Compare with storing all states, and with a difference quotient."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=10, help="states to store")
    options = parser.parse_args()
    steps, slots = options.steps, options.slots

    grid = np.arange(64) * DX
    start = np.sin(2 * np.pi * grid) + 0.5
    found, computed, held = gradient(start, steps, slots)
    print(f"{steps} steps in {held} stored states: {computed} steps computed,")
    print(f"{computed / steps:.2f} times those of one forward")
    assert computed == steps + advances(steps, slots)

    # The same numbers as with every state stored, bit by bit.
    everything, _, states = gradient(start, steps, steps)
    assert np.array_equal(found, everything)
    print(f"equal to the gradient from {states} stored states")

    def energy(u: State) -> float:
        for _ in range(steps):
            u = step(u)
        return 0.5 * float(u @ u)

    direction, h = np.cos(6 * np.pi * grid), 1e-5
    ahead, behind = energy(start + h * direction), energy(start - h * direction)
    quotient, slope = (ahead - behind) / (2 * h), float(found @ direction)
    print(f"slope {slope:.9f}, difference quotient {quotient:.9f}")
    assert abs(slope - quotient) < 1e-6 * max(1.0, abs(slope))


if __name__ == "__main__":
    main()
