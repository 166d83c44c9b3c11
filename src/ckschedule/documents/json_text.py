"""Strict JSON: refuses what parsers usually let pass, and what could hurt them."""

import json
import re
from typing import Final

from ckschedule.errors import DocumentError

MAX_BYTES: Final = 128 * 2**20
"""Default of ``max_bytes``: the longest text that is read, in bytes."""

MAX_ELEMENTS: Final = 16_000_000
"""Arrays, objects and strings in one text, at most; each costs 64 bytes or so."""

MAX_DIGITS: Final = 20
"""Digits of an integer, at most; 2**63 - 1 has 19."""

_LONG_NUMBER: Final = re.compile(rf"[0-9]{{{MAX_DIGITS + 1}}}")


def encode(tree: object) -> str:
    """Return plain dicts, lists, strings and integers as JSON on one line.

    Raises
    ------
    DocumentError
        If a string holds a lone surrogate, which no UTF-8 file can.
    """
    text = json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        around = ascii(text[max(0, error.start - 20) : error.end + 20])
        raise DocumentError(
            f"a name holds a lone surrogate, which is no valid Unicode text: {around}; "
            f"rename it"
        ) from None
    return text + "\n"


def decode(
    text: str | bytes, *, max_bytes: int, max_fields: int | None = None
) -> object:
    """Return the contents of a JSON text.

    Parameters
    ----------
    text
        As str, or as bytes in UTF-8 without byte-order mark.
    max_bytes
        Longer texts are refused unread.
    max_fields
        Objects with more fields are refused; None for no limit.

    Raises
    ------
    DocumentError
        If the text is too long, is no UTF-8, is no JSON, is nested too deeply, repeats
        a key, or holds NaN, infinities, or integers beyond `MAX_DIGITS` digits.
    """
    if len(text) > max_bytes:
        raise DocumentError(
            f"the text has more than {max_bytes} bytes; raise max_bytes if you trust it"
        )
    string = text if isinstance(text, str) else _decode_utf8(text)
    if string.startswith("\ufeff"):
        raise DocumentError(
            "the text starts with a byte-order mark; save it as UTF-8 without one"
        )
    _check_elements(string)

    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if max_fields is not None and len(pairs) > max_fields:
            raise DocumentError(
                f"an object has {len(pairs)} fields, among them "
                f"{ascii(pairs[0][0])[:60]}; the format has none with more than "
                f"{max_fields}"
            )
        table = dict(pairs)
        if len(table) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    raise DocumentError(
                        f"an object has the key {ascii(key)[:60]} twice; remove one"
                    )
                seen.add(key)
        return table

    # The hook costs a call for each integer, so it stands only where a long run of
    # digits occurs at all.
    long = _LONG_NUMBER.search(string) is not None
    try:
        return json.loads(
            string,
            object_pairs_hook=build,
            parse_constant=_refuse_constant,
            parse_int=_parse_integer if long else None,
        )
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"no valid JSON at line {error.lineno}, column {error.colno}: {error.msg}; "
            f"the file is truncated or was edited by hand"
        ) from None
    except RecursionError:
        raise DocumentError("arrays or objects are nested too deeply") from None


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"byte {error.start} is no UTF-8 ({error.reason}); save the file as UTF-8"
        ) from None


def _check_elements(string: str) -> None:
    count = string.count("[") + string.count("{") + string.count('"') // 2
    if count > MAX_ELEMENTS:
        raise DocumentError(
            f"the text has about {count} arrays, objects and strings, over the limit "
            f"of {MAX_ELEMENTS}"
        )


def _refuse_constant(token: str) -> None:
    raise DocumentError(f"{token} is no JSON; bytes and ticks are integers")


def _parse_integer(digits: str) -> int:
    # Converting takes quadratic time: never start on a number that cannot be meant.
    if len(digits) > MAX_DIGITS:
        raise DocumentError(
            f"the integer {digits[:12]}... has {len(digits)} digits; bytes and ticks "
            f"end at 2**63 - 1"
        )
    return int(digits)
