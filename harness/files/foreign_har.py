"""HAR files of other programs, whatever follows HAR 1.1 or 1.2, and however it is packed (harness.files.har_file)."""

import math
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files.foreign_body import HarContext
from harness.files.foreign_entry import ForeignEntry, entry_of, page_charsets
from harness.files.foreign_pages import (
    in_order,
    is_late,
    load_ends,
    page_begins,
    page_urls,
    with_pages,
    without_leftovers,
)
from harness.files.foreign_types import log_of
from harness.files.har_file import read_har_file
from harness.files.urls import without_fragment
from harness.system.untrusted import UnreadableFileError, parse_json

DEEPEST = 200
"""Levels of JSON: Chrome writes down which call led to which (`_initiator`), one inside the other."""
MESSAGES = "_webSocketMessages"


def read_foreign_har(path: Path) -> list[ForeignEntry]:
    """Return the requests over http and https in a HAR, as asked for. Raises InputError when it is none, or empty."""
    try:
        file = read_har_file(path)
        log = log_of(parse_json(file.text, DEEPEST))
        pages = log.get("pages") or []
        begins, ends = page_begins(pages), load_ends(pages)
        pages_of = with_pages(in_order(log["entries"]), begins)
        context = HarContext(str((log.get("creator") or {}).get("name", "")), file.attached,
                        page_charsets(pages_of))
        entries = (entry_of(entry, page, context) for entry, page in pages_of)
        found = [replace(entry, late=is_late(entry, ends)) for entry in entries if entry is not None]
        found = without_leftovers(found, pages)
    except UnreadableFileError as error:
        raise InputError(f"{error}; give the HAR of one page") from None
    except (ValueError, TypeError, KeyError, AttributeError, EOFError, OSError, zlib.error) as error:
        words = str(error)[:100] if type(error) is ValueError else f"{type(error).__name__}: {str(error)[:100]}"
        raise InputError(f"{path}:1: not a HAR ({words}); give one as a browser exports it") from None
    if not found:
        raise InputError(f"{path}:1: no request over http or https in it; give the HAR of a page load")
    return found


def read_websocket_entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of WebSockets with their messages, as Chrome's DevTools export them; harness.mirror.live reads
    them. A HAR that read_foreign_har has read has none at worst.
    """
    return _websockets_in(_log_with_websockets(path))


def read_websockets_of_loads(path: Path) -> list[tuple[dict[str, Any], float]]:
    """Return the same, each with its page's load event in s since the epoch, infinity where that is not known."""
    log = _log_with_websockets(path)
    pages = log.get("pages") or []
    begins, ends_s = page_begins(pages), {page: end.timestamp() for page, end in load_ends(pages).items()}
    pages_of = with_pages(in_order([entry for entry in log["entries"] if isinstance(entry, dict)]), begins)
    return [(entry, ends_s.get(page, math.inf)) for entry, page in pages_of if MESSAGES in entry]


def _log_with_websockets(path: Path) -> dict[str, Any]:
    """Return a HAR's log, or an empty one where it has no messages: reading a large one takes a while."""
    content = read_har_file(path).text
    log: dict[str, Any] = parse_json(content, DEEPEST)["log"] if MESSAGES.encode() in content else {"entries": []}
    return log


def _websockets_in(log: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in log["entries"] if isinstance(entry, dict) and MESSAGES in entry]


def has_bodies(entries: list[ForeignEntry]) -> bool:
    """Say whether most of the answers that have a body have it in the HAR, those of the pages' own URLs among them."""
    answered = [entry for entry in entries if entry.status == 200 and (entry.content_bytes or entry.body)]
    pages = page_urls(entries)
    documents: dict[str, bool] = {}     # the first of each page: scripts may ask for its URL, too
    for entry in answered:
        if without_fragment(entry.url) == pages.get(entry.page):
            documents.setdefault(entry.page, entry.body is not None)
    most = 2 * sum(entry.body is not None for entry in answered) > len(answered)
    return bool(answered) and most and (any(documents.values()) or not documents)
