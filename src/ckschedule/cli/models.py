"""The argument MODEL, and the options of the catalogue's networks.

The options are those of the catalogue's formulas: flags, types and choices are read off
their signatures, so that a formula's new parameter is an option of every command. Only
the help texts, and flags that would clash or are long, are written down here.
"""

import inspect
import logging
import re
import time
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, wraps
from glob import escape, glob
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import typer

from ckschedule.catalog import CATALOG
from ckschedule.costs.device import DEVICES
from ckschedule.errors import DocumentError, InvalidModelError
from ckschedule.simulation import Model

_log = logging.getLogger(__name__)

NO_DEVICE: Final = "none"
"""Value of ``--device`` that counts floating-point operations instead of time."""

_PANEL: Final = "Options of catalogue models; more: ckschedule catalog MODEL"

_FLAGS: Final[Mapping[str, str]] = {
    "sequence": "seq",
    # Beside -o FILE these would mislead.
    "output": "output-bytes",
    "saved": "saved-bytes",
    "gradient": "gradient-bytes",
    "forward": "forward-steps",
    "backward": "backward-steps",
    "transient": "transient-bytes",
    "forward_transient": "forward-transient-bytes",
    "backward_transient": "backward-transient-bytes",
}

_COMMON: Final[Mapping[str, str]] = {
    "depth": "Layers of a resnet.",
    "batch": "Samples in a batch.",
    "image": "Side of the images in pixels.",
    "layers": "Blocks of a transformer, or layers of an LSTM.",
    "hidden": "Channels of a transformer, or units of an LSTM.",
    "sequence": "Tokens in a sequence.",
    "steps": "Time steps over which an LSTM is unrolled.",
    "stages": "Stages of a uniform chain.",
    "blocks": "Residual blocks in each group of a resnet, such as 3,4,23,3.",
    "attention": "Kernel of a transformer's attention.",
    "dtype": "Precision of activations and weights.",
    "device": f"Whose roofline gives the times; '{NO_DEVICE}' counts flops instead.",
    "optimizer": "Whose static bytes to count; 'none' counts activations only.",
}
"""Options that every command's help shows, in its order."""

_RARE: Final[Mapping[str, str]] = {
    "classes": "Classes of the output.",
    "width": "Channels of the first group of blocks.",
    "block": "Kind of residual block.",
    "form": "Stem and groups for large or for small images.",
    "preactivation": "Normalise and activate before each convolution.",
    "batch_norm": "Normalise after each convolution.",
    "inputs": "Features of each time step's input.",
    "heads": "Attention heads.",
    "key_heads": "Heads of keys and values.",
    "inner": "Channels inside the feed-forward part.",
    "vocabulary": "Tokens in the vocabulary.",
    "positions": "Rows of the position table.",
    "dropout": "Train with dropout.",
    "output": "Bytes of each stage's output.",
    "saved": "Bytes that each stage saves beyond input and output.",
    "gradient": "Bytes of each output's gradient.",
    "forward": "Steps of each forward.",
    "backward": "Steps of each backward.",
    "transient": "Bytes of each plain forward while it runs.",
    "forward_transient": "Bytes of each recorded forward while it runs.",
    "backward_transient": "Bytes of each backward while it runs.",
    "needs_input": "Saved tensors hold the stage's input.",
    "needs_output": "Saved tensors hold the stage's output.",
}
"""Options that `ckschedule catalog MODEL` shows, left out of the commands' help."""

_HELP: Final[Mapping[str, str]] = {**_COMMON, **_RARE}


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogOption:
    """An option that some networks of the catalogue have.

    Attributes
    ----------
    parameter
        The keyword of the formulas.
    flag
        As on the command line, such as ``--seq``.
    kind
        int, bool, a `Literal` of choices, or str for a list of integers.
    """

    parameter: str
    flag: str
    kind: Any

    @property
    def help(self) -> str:
        """One sentence."""
        return _HELP.get(self.parameter, "")

    @property
    def choices(self) -> tuple[str, ...]:
        """Legal values; empty if there is no list of them."""
        return get_args(self.kind)

    @property
    def declaration(self) -> inspect.Parameter:
        """The parameter by which a command takes it; None means not given."""
        negated = f"/--no-{self.flag[2:]}" if self.kind is bool else ""
        option = typer.Option(
            f"{self.flag}{negated}",
            help=self.help,
            rich_help_panel=_PANEL,
            show_default=False,
            hidden=self.parameter not in _COMMON,
            metavar={str: "N,N,...", int: "N"}.get(self.kind),
        )
        return inspect.Parameter(
            self.parameter,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[self.kind | None, option],
        )


@cache
def catalog_options() -> Mapping[str, CatalogOption]:
    """Return the options of all networks by keyword, the common ones first."""
    kinds: dict[str, Any] = {}
    for entry in CATALOG.values():
        for name, parameter in inspect.signature(entry.build).parameters.items():
            kinds.setdefault(name, _kind(name, parameter.annotation))
    order = [name for name in _COMMON if name in kinds]
    order += [name for name in kinds if name not in _COMMON]
    return {
        name: CatalogOption(
            parameter=name,
            flag="--" + _FLAGS.get(name, name.replace("_", "-")),
            kind=kinds[name],
        )
        for name in order
    }


def _kind(name: str, annotation: Any) -> Any:
    """Return how an option of that annotation is read from the command line."""
    if name == "device":
        return Literal[(*DEVICES, NO_DEVICE)]
    if get_origin(annotation) in (Union, types.UnionType):
        (annotation,) = (a for a in get_args(annotation) if a is not type(None))
    if get_origin(annotation) in (Sequence, tuple, list):
        return str
    return annotation


def options_of(name: str) -> dict[str, Any]:
    """Return the keywords of a network of the catalogue with their defaults."""
    signature = inspect.signature(CATALOG[name].build)
    return {key: parameter.default for key, parameter in signature.parameters.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelArgument:
    """The model that a command line asks for.

    Attributes
    ----------
    name
        A name of the catalogue, or a path.
    options
        Catalogue options that were given, by keyword, as the formulas take them.
    """

    name: str
    options: Mapping[str, Any]

    @property
    def in_catalog(self) -> bool:
        """Whether the name is one of the catalogue's."""
        return self.name in CATALOG

    def flag(self, option: str) -> str:
        """Return the flag of a keyword."""
        return catalog_options()[option].flag

    def value(self, option: str) -> Any:
        """Return what a keyword is here; None if the network has no such option."""
        return {**options_of(self.name), **self.options}.get(option)

    def vary(self, **options: Any) -> "ModelArgument":
        """Return the same network with other options."""
        return replace(self, options={**self.options, **options})

    def title(self, model: Model) -> str:
        """Return the name of the loaded model and the options that were given."""
        given = [f"{self.flag(k)[2:]} {_as_text(v)}" for k, v in self.options.items()]
        return ", ".join([model.name, *given])

    def load(self) -> Model:
        """Return the chain or graph.

        Raises
        ------
        typer.BadParameter
            If the name is unknown, or has an option that the model does not.
        DocumentError, InvalidModelError
            As reading and the formulas say.
        OSError
            If the file cannot be read.
        """
        start = time.monotonic()
        model = self._build() if self.in_catalog else self._read()
        _log.info("%s: loaded in %.2f s", model.name, time.monotonic() - start)
        return model

    def _build(self) -> Model:
        known = options_of(self.name)
        unknown = [key for key in self.options if key not in known]
        if unknown:
            flags = catalog_options()
            raise typer.BadParameter(
                f"{_listed(flags[key].flag for key in unknown)}: the model "
                f"{self.name!r} has no such option; it has "
                f"{', '.join(sorted(flags[key].flag for key in known))}"
            )
        try:
            return CATALOG[self.name].build(**self.options)
        except InvalidModelError as error:
            raise InvalidModelError(_in_flags(str(error))) from error

    def _read(self) -> Model:
        if not Path(self.name).exists() and not _is_path(self.name):
            near = _nearest(self.name)
            guess = f"did you mean {near!r}? " if near else ""
            raise typer.BadParameter(
                f"model {self.name!r} is neither in the catalogue nor a file; {guess}"
                f"'ckschedule catalog' lists the names"
            )
        if self.options:
            flags = catalog_options()
            raise typer.BadParameter(
                f"{_listed(flags[key].flag for key in self.options)}: only catalogue "
                f"models have such options, and {self.name!r} is a file; leave them out"
            )
        # Reading imports pydantic, which models of the catalogue do not need.
        from ckschedule.documents import read_model

        try:
            return read_model(self.name)
        except DocumentError:
            from ckschedule.cli.foreign import import_command

            command = import_command(self.name)
            if command is None:
                raise
            raise DocumentError(
                f"{self.name} is a file of another program; run '{command}' and give "
                f"model.json instead"
            ) from None


def _as_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _nearest(name: str) -> str | None:
    """Return what an unknown name was meant to be, as it is written here."""
    if depth := re.fullmatch(r"resnet[-_]?([0-9]+)", name, re.IGNORECASE):
        return f"resnet --depth {depth[1]}"
    near = get_close_matches(name.lower(), CATALOG, n=1, cutoff=0.5)
    return near[0] if near else None


def _in_flags(message: str) -> str:
    """Return a formula's message with flags where it has keywords.

    "gpt: hidden is 770", "another heads", "heads 12", "blocks=(1, 1)" are meant.
    """
    for key, option in catalog_options().items():
        for written, numbers in re.findall(rf"\b({key}=\(([^)]*)\))", message):
            typed = numbers.replace(" ", "")
            message = message.replace(written, f"{option.flag} {typed}")
        message = re.sub(
            rf"\b[a-z]+: {key}\b|(?<=another ){key}\b|(?<![-\w]){key}(?= [0-9])",
            option.flag,
            message,
        )
    return message


def _is_path(name: str) -> bool:
    return Path(name).suffix != "" or len(Path(name).parts) > 1


def _listed(flags: Iterable[str]) -> str:
    return ", ".join(flags)


def takes_model(
    command: Callable[..., None],
    *,
    optional: bool = False,
    several: bool = False,
    declare: Any = None,
) -> Callable[..., None]:
    """Return ``command`` with the argument MODEL and the catalogue's options.

    Parameters
    ----------
    command
        Takes a keyword ``model``, a `ModelArgument`, or None if that is ``optional``;
        a list of them if there may be ``several``.
    optional, several
        Whether the argument may be left out, or repeated.
    declare
        An option by which the model is given instead.
    """
    own = inspect.signature(command).parameters
    argument = inspect.Parameter(
        "model",
        inspect.Parameter.KEYWORD_ONLY,
        default=None if optional else inspect.Parameter.empty,
        annotation=Annotated[
            list[str] if several else str | None if optional else str,
            declare
            or typer.Argument(
                metavar="MODEL",
                help="A name of the catalogue (see 'ckschedule catalog'), or a JSON "
                "file that holds or records a model.",
                show_default=False,
                autocompletion=_complete,
            ),
        ],
    )
    options = [option.declaration for option in catalog_options().values()]

    @wraps(command)
    def run(**values: Any) -> None:
        name = values.pop("model")
        given = {
            option.parameter: _convert(option, value)
            for option in catalog_options().values()
            if (value := values.pop(option.parameter)) is not None
        }
        if name is None and given:
            flags = _listed(catalog_options()[key].flag for key in given)
            how = " with --model" if declare else ""
            raise typer.BadParameter(f"{flags}: name the model that this is for{how}")
        names = name if several else [] if name is None else [name]
        models = [ModelArgument(name=each, options=given) for each in names]
        command(model=models if several else next(iter(models), None), **values)

    parameters = [
        *(argument if name == "model" else own[name] for name in own),
        *options,
    ]
    setattr(run, "__signature__", inspect.Signature(parameters))  # noqa: B010  # mypy
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _convert(option: CatalogOption, value: Any) -> Any:
    """Return an option's value as the formulas take it."""
    if option.parameter == "device":
        return None if value == NO_DEVICE else value
    if option.kind is str:
        try:
            return tuple(int(part) for part in value.split(","))
        except ValueError:
            raise typer.BadParameter(
                f"{option.flag} is {value!r}; write whole numbers with commas between "
                f"them, such as 3,4,23,3"
            ) from None
    if option.kind is int and value < 0:
        raise typer.BadParameter(
            f"{option.flag} is {value}; write a whole number of 0 or more"
        )
    return value


def _complete(incomplete: str) -> list[str]:
    files = sorted(glob(f"{escape(incomplete)}*.json"))
    return [name for name in CATALOG if name.startswith(incomplete)] + files
