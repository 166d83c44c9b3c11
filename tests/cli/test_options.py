"""The command line is an interface: its options change on purpose only."""

from typer.core import TyperGroup
from typer.main import get_command

from ckschedule.catalog import CATALOG
from ckschedule.cli.app import app
from ckschedule.cli.models import catalog_options, options_of

MODEL_OPTIONS = [
    "--depth",
    "--batch",
    "--image",
    "--layers",
    "--hidden",
    "--seq",
    "--steps",
    "--stages",
    "--blocks",
    "--attention",
    "--dtype",
    "--device",
    "--optimizer",
    "--output-bytes",
    "--saved-bytes",
    "--gradient-bytes",
    "--forward-steps",
    "--backward-steps",
    "--transient-bytes",
    "--forward-transient-bytes",
    "--backward-transient-bytes",
    "--needs-input/--no-needs-input",
    "--needs-output/--no-needs-output",
    "--classes",
    "--width",
    "--block",
    "--form",
    "--preactivation/--no-preactivation",
    "--batch-norm/--no-batch-norm",
    "--inputs",
    "--heads",
    "--vocabulary",
    "--positions",
    "--dropout/--no-dropout",
    "--key-heads",
    "--inner",
]

TORCH_OPTIONS = ["--stages", "--time", "--variants", "--optimizer", "--accumulate"]

FROZEN = {
    "pareto": [
        "MODEL",
        "--budget",
        "--overhead",
        "--plot",
        "--points",
        "--time-limit",
        "--resume",
        "--out/-o",
        "--show/--no-show",
        "--json",
        *MODEL_OPTIONS,
    ],
    "solve": [
        "MODEL",
        "--budget",
        "--solver",
        "--order",
        "--time-limit",
        "--out/-o",
        "--json",
        *MODEL_OPTIONS,
    ],
    "compare": ["MODEL", "--budget", "--time-limit", "--json", *MODEL_OPTIONS],
    "report": [
        "MODEL",
        "--out/-o",
        "--budget",
        "--points",
        "--time-limit",
        *MODEL_OPTIONS,
    ],
    "simulate": [
        "PLAN",
        "--model",
        "--budget",
        "--plot",
        "--show/--no-show",
        "--json",
        *MODEL_OPTIONS,
    ],
    "arena": [
        "PLAN",
        "--exact",
        "--time-limit",
        "--alignment",
        "--plot",
        "--out/-o",
        "--json",
    ],
    "catalog": ["MODEL", "--out/-o", "--json", *MODEL_OPTIONS],
    "import": ["FORMAT", "FILE", "--out/-o", "--json"],
    "profile": ["TARGET", *TORCH_OPTIONS, "--meta", "--out/-o", "--json"],
    "run": [
        "TARGET",
        "--budget",
        *TORCH_OPTIONS,
        "--solver",
        "--no-verify",
        "--finite-differences",
        "--repeats",
        "--out/-o",
        "--json",
    ],
    "export": ["PLAN", "--to", "--out/-o"],
    "doctor": ["--json"],
}


def dumped() -> dict[str, list[str]]:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return {
        name: [
            "/".join([*parameter.opts, *parameter.secondary_opts])
            if parameter.param_type_name == "option"
            else str(parameter.name).upper()
            for parameter in command.params
        ]
        for name, command in group.commands.items()
    }


def test_the_options_are_the_documented_ones() -> None:
    """Scripts and documentation rely on every one of them."""
    assert dumped() == FROZEN


def test_the_common_options_are_the_documented_ones() -> None:
    """They stand before the command."""
    options = {o for p in get_command(app).params for o in p.opts}
    assert options == {
        "--verbose",
        "-v",
        "--version",
        "--install-completion",
        "--show-completion",
    }


def test_every_parameter_of_the_catalogue_is_an_option() -> None:
    """A new parameter of a formula reaches the command line by itself."""
    options = catalog_options()
    for name in CATALOG:
        assert set(options_of(name)) <= set(options)


def test_every_option_of_the_catalogue_has_a_help_text() -> None:
    """A new parameter needs one sentence."""
    assert [o.flag for o in catalog_options().values() if not o.help] == []
    assert len({o.flag for o in catalog_options().values()}) == len(catalog_options())
