"""A folder with a module of factories, from which commands are run."""

from itertools import count
from pathlib import Path

import pytest

_NUMBERS = count()

_FACTORIES = """\
import torch
from torch import nn
from torch.nn import functional as F


def build():
    print("building")
    torch.manual_seed(0)
    layers = []
    for _ in range(6):
        layers += [nn.Linear(32, 32), nn.Tanh()]
    x, y = torch.randn(256, 32), torch.randint(32, (256,))
    return nn.Sequential(*layers), x, lambda out: F.cross_entropy(out, y)


def without_loss():
    return build()[:2]


class Case:
    def __init__(self):
        self.model, self.inputs, self.loss = build()


def needs_argument(depth):
    return build()


def raises():
    raise ValueError("no data here")


def exits():
    raise SystemExit(3)


def a_number():
    return 3


def no_model():
    return "model", torch.ones(3)


def no_loss_function():
    return (*build()[:2], 7)


def no_chain():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return (self.scale * x).sum()

    return Scale(), torch.ones(3)


def broken_forward():
    class Broken(nn.Module):
        def forward(self, x):
            return x.nothing

    return nn.Sequential(nn.Linear(3, 3), Broken(), nn.Linear(3, 3)), torch.ones(2, 3)


def on_cpu():
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh()), torch.ones(2, 3, device="cpu")


def on_meta():
    with torch.device("meta"):
        return build()


def nested():
    model, x, loss = build()
    pairs = zip(model[::2], model[1::2])
    return nn.Sequential(*(nn.Sequential(*pair) for pair in pairs)), x, loss


value = 3
"""


@pytest.fixture
def factories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module in the current directory.

    Each test has its own: modules are imported once in a process.
    """
    pytest.importorskip("torch", reason="needs ckschedule[torch]")
    name = f"factories_{next(_NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(_FACTORIES)
    monkeypatch.chdir(tmp_path)
    return name
