"""A HAR's parts have the types that HAR 1.2 gives them, or it is refused, in words that say which part has not.

What may be missing may also be null, or empty in any way (`0`, `""`): programs write that.
"""

from collections.abc import Iterable
from typing import Any

WORDS: dict[type, str] = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number",
                          float: "a number", type(None): "missing"}
OBJECTS_OF_ENTRY = ("response", "response.content", "timings")


def log_of(har: Any) -> dict[str, Any]:
    """Return the log of a parsed HAR. Raises ValueError where a part of another type stands."""
    log: dict[str, Any] = _required(_required(har, "what it holds", dict).get("log"), "log", dict)
    _check(log, "log", ("creator",), dict)
    _check(log, "log", ("pages",), list)
    for number, page in enumerate(log.get("pages") or []):
        _check(_required(page, f"log.pages[{number}]", dict), f"log.pages[{number}]", ("pageTimings",), dict)
    for number, entry in enumerate(_required(log.get("entries"), "log.entries", list)):
        _check_entry(entry, f"log.entries[{number}]")
    return log


def _check_entry(entry: Any, where: str) -> None:
    request = _required(_required(entry, where, dict).get("request"), f"{where}.request", dict)
    if request.get("url") is None:
        raise ValueError(f"{where}.request.url is missing")
    _check(entry, where, OBJECTS_OF_ENTRY, dict)


def _check(part: dict[str, Any], where: str, names: Iterable[str], kind: type) -> None:
    """Raise ValueError where something below `part` is not of this kind; `names` have what is above it first."""
    for name in names:
        found: Any = part
        for step in name.split("."):
            found = (found or {}).get(step)
        if found:
            _required(found, f"{where}.{name}", kind)


def _required(found: Any, where: str, kind: type) -> Any:
    if not isinstance(found, kind):
        raise ValueError(f"{where} is {WORDS.get(type(found), 'something else')}, and must be {WORDS[kind]}")
    return found
