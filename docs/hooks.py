"""What the site takes from the package itself: its command line and its file format.

MkDocs calls these functions by their names, such as ``on_files``.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

SOURCES: Final = Path(__file__).parents[1] / "src"
"""The package of this checkout, which is documented whatever else is installed."""

SCHEMA: Final = "reference/schema.json"
"""Where the site keeps the JSON Schema."""

COMMANDS_HERE: Final = "<!-- the commands -->"
KINDS_HERE: Final = "<!-- the kinds of documents -->"


def on_config(config: Any) -> Any:
    """Make the package importable from its sources."""
    if str(SOURCES) not in sys.path:
        sys.path.insert(0, str(SOURCES))
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the JSON Schema, byte for byte the package's own."""
    from mkdocs.structure.files import File

    schema = SOURCES / "ckschedule" / "documents" / "schema.json"
    files.append(File.generated(config, SCHEMA, content=schema.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Fill the pages that say where."""
    if COMMANDS_HERE in markdown:
        markdown = markdown.replace(COMMANDS_HERE, "\n".join(_commands()))
    if KINDS_HERE in markdown:
        markdown = markdown.replace(KINDS_HERE, "\n".join(_kinds()))
    return markdown


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Drop what numpydoc's markup leaves where Markdown is read."""
    html = html.replace("<p>::</p>", "").replace(" ::</p>", "</p>")
    return re.sub(r"\.\. \[(\d+)\]", r"[\1]", html)


def _commands() -> Iterator[str]:
    """Give the help of every command, in the order in which the program lists them."""
    import typer
    from typer.main import get_group

    from ckschedule.cli.app import app

    group = get_group(app)
    above = typer.Context(group, info_name="ckschedule")
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None, "it was listed"
        context = typer.Context(command, info_name=name, parent=above)
        yield f"## ckschedule {name}"
        yield ""
        yield from _prose(command.help or "")
        yield "```text"
        yield " ".join([context.command_path, *command.collect_usage_pieces(context)])
        yield "```"
        yield ""
        yield "| parameter | meaning |"
        yield "|---|---|"
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None:
                shown = record[0].replace("|", ", ")
                yield f"| `{shown}` | {_plain(record[1])} |"
        yield ""


def _prose(text: str) -> Iterator[str]:
    """Give a command's text: sentences as they are, indented lines as code."""
    for paragraph in text.split("\n\n"):
        lines = paragraph.strip("\n").split("\n")
        if all(line.startswith("  ") for line in lines):
            yield "```text"
            yield from (line.removeprefix("  ") for line in lines)
            yield "```"
        else:
            yield _plain(" ".join(lines))
        yield ""


def _plain(text: str) -> str:
    """Return a text for terminals as Markdown, on one line."""
    text = text.replace("[bold]", "**").replace("[/bold]", "**").replace("\\[", "[")
    text = text.replace("|", "\\|").replace("<", "&lt;").replace("*.", "\\*.")
    text = text.replace("[", "&#91;")  # no reference to another page
    return " ".join(text.split())


def _kinds() -> Iterator[str]:
    """Give one section for each kind of document, with a table of its fields."""
    from ckschedule.documents import json_schema

    schema = json_schema()
    definitions = schema["$defs"]
    for kind, reference in schema["discriminator"]["mapping"].items():
        yield f"## {kind}"
        yield ""
        yield from _fields(_definition(reference, definitions), definitions)
    shown = {_name(ref) for ref in schema["discriminator"]["mapping"].values()}
    yield "## Parts of documents"
    yield ""
    for name, definition in sorted(definitions.items()):
        if name not in shown and "properties" in definition:
            yield f"### {_part(name)}"
            yield ""
            yield from _fields(definition, definitions)


def _fields(
    definition: Mapping[str, Any], definitions: Mapping[str, Any]
) -> Iterator[str]:
    """Give a definition's text, and its fields as a table: none is optional."""
    description = " ".join(definition.get("description", "").split())
    if description:
        yield description.replace("``", "`")
        yield ""
    yield "| field | type |"
    yield "|---|---|"
    for name, field in definition["properties"].items():
        yield f"| `{name}` | {_type(field, definitions)} |"
    yield ""


def _type(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return a field's type in words."""
    if "$ref" in field:
        found = _definition(field["$ref"], definitions)
        if "enum" in found:
            return _type(found, definitions)
        part = _part(_name(field["$ref"]))
        return f"[{part}](#{part.lower().replace(' ', '-')})"
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(_type(one, definitions) for one in field[several])
    kind = field.get("type", "any value")
    if kind == "array":
        return f"array of {_type(field.get('items', {}), definitions)}"
    if kind == "integer" and "minimum" in field:
        return f"integer from {field['minimum']}"
    return str(kind)


def _part(name: str) -> str:
    """Return what a definition is called on the page."""
    return f"Part {name.removesuffix('Wire').lower()}"


def _definition(reference: str, definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = definitions[_name(reference)]
    return found


def _name(reference: str) -> str:
    return reference.rsplit("/", 1)[-1]
