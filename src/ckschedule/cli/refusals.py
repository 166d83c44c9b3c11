"""Command lines that cannot be meant: what is wrong with them, in a sentence."""

import re
from difflib import get_close_matches
from typing import Any

import typer


def describe(error: typer.TyperException) -> str:
    """Return culprit, value and remedy of a refused command line."""
    parameter, cause = getattr(error, "param", None), error.__cause__
    details = getattr(cause, "errors", None)
    if parameter is None or details is None:
        return error.format_message().removeprefix("Invalid value: ")
    # The parser's own words are those of pydantic.
    first = details(include_url=False)[0]
    name = _name_of(parameter)
    if first["type"].startswith("int"):
        return f"{name} is {first['input']!r}; write a whole number, such as 32"
    choices = re.findall(r"'([^']*)'", first["msg"].partition(" is not one of ")[2])
    if choices:
        near = get_close_matches(str(first["input"]).lower(), choices, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        return (
            f"{name} is {first['input']!r}; {guess}choose one of {', '.join(choices)}"
        )
    return f"{name} is {first['input']!r}; {first['msg']}"


def _name_of(parameter: Any) -> str:
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper())
