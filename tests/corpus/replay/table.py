"""Prints the cases as the list of docs/replay.md: ``.venv/bin/python -m tests.corpus.replay.table``.

With ``--whole`` a row for each case, with what was recorded, what is asked for, and which of these is the answer.
"""

import sys
import textwrap
from typing import Any

from tests.corpus.replay.cases import FILES, read_cases

LONGEST = 60
"""Characters of a URL in the table."""
TELLING = ("by", "method", "status", "words", "post", "asked", "headers", "page", "load")
"""What is shown of an exchange or a request besides its URL."""


TOPICS = {"bodies": "Bodies, methods", "kinds": "Kinds of requests", "order": "Order, loads, polls",
          "parts": "Parts of a body", "preflights": "Preflights (CORS)", "redirects": "Redirects",
          "stand-ins": "Stand-ins", "text-logs": "Recordings of 2013"}


def rows(*, whole: bool) -> list[str]:
    """Return an item for each file of cases; `whole`: a row for each case, with what was recorded and asked for."""
    if whole:
        columns = ("case", "recorded", "asked for", "answer")
        cases = (case for file in FILES for case in read_cases(file))
        return [_row(*columns), "|---" * len(columns) + "|", *map(_of_case, cases)]
    items = (f"- **{TOPICS[file.stem]}**: {'; '.join(dict.fromkeys(map(_title, read_cases(file))))}." for file in FILES)
    wrapped = textwrap.TextWrapper(118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [line for item in items for line in wrapped.wrap(item)]


def _of_case(case: dict[str, Any]) -> str:
    recorded = [f"{number}: {_said(each)}" for number, each in enumerate(case["recorded"], start=1)]
    recorded += [f"file `{each}`" for each in case.get("files", {})]
    asked = [_said(each | {"status": 200}) for each in case["requests"]]
    got = [_got(each) for each in case["requests"]]
    return _row(case["name"], "<br>".join(recorded), "<br>".join(asked), "<br>".join(got))


def _title(case: dict[str, Any]) -> str:
    """Return what variants of a case share: its name, and which real page has it."""
    name = case["name"].removeprefix("2013: ").partition(": ")[0]
    return f"{name} ({case['why']})" if case.get("why") else name


def _got(request: dict[str, Any]) -> str:
    number = request["gets"]
    text = {"missing": "404", "ended": "ended"}.get(request["found"], f"{number or 'allowed'}")
    if isinstance(number, str):
        text = "the file"
    marks = [request["found"]] if request["found"] in ("masked", "best-match", "live") else []
    marks += [str(request["status"])] if request["status"] in (206, 304, 416) else []
    marks += ["hangs"] if not request["status"] else []
    return f"{text} ({', '.join(marks)})" if marks else text


def _said(exchange: dict[str, Any]) -> str:
    url = exchange["url"]
    text = f"`{url if len(url) <= LONGEST else url[:LONGEST] + '…'}`"
    if "to" in exchange and "gets" not in exchange:
        text += f" → `{exchange['to']}`"
    told = [_shown(name, exchange[name]) for name in TELLING if exchange.get(name) not in (None, {}, "", 200)]
    return f"{text} {', '.join(told)}" if told else text


def _shown(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"`{key}: {text}`" for key, text in value.items())
    if name == "status":
        return "no answer" if not value else str(value)
    return f"{name} `{value}`" if name in ("post", "page", "load") else f"{value}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    print("\n".join(rows(whole="--whole" in sys.argv)))
