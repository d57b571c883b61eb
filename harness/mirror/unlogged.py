"""Files of a mirror that no log names: mirrors of 2013's format have many, and their replay answers with them.

The scraper of 2013 kept more bodies than its logs have responses: 356 of the 612 of the paper's pages. Of what it
called by an MD5 the URL stands in a log (`PageLog.renamed`), or in the page that refers to it.
"""

import html
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as changed

from harness.files.text_log import PageLog
from harness.mirror.answers import Recorded
from harness.mirror.headers import location
from harness.mirror.paths import is_md5_name, md5_name
from harness.mirror.recording import Recording
from harness.system.untrusted import UnreadableFileError, read_untrusted

URL = re.compile(r"""(?:https?:)?(?://[\w.-]+)?(/[^\s"'<>()\\]+)""")
"""A URL, or the path of one, in a text; its path and query."""
LARGEST_TEXT = 10_000_000
"""Bytes."""


def unlogged_answers(recording: Recording, mirror: Path, logs: Mapping[str, PageLog]) -> Iterator[Recorded]:
    """Give an answer for each file that no transaction has, if its URL can be told, host by host.

    `logs` are the pages' text logs by name. An answer's `page` is that of the first log that names its file, else its
    host, else the first of all.
    """
    unnamed = [answer for answer in recording.each
               if not answer.page and answer.place.scheme == recording.schemes(answer.place.host)[0]]
    targets = {file: target for log in logs.values() for file, target in log.renamed.items()}
    md5_names = {name for answer in unnamed if is_md5_name(name := answer.place.target[1:])}
    targets |= _targets_in_bodies(recording, mirror, md5_names - targets.keys())
    hosts = {name: _hosts_in(log) for name, log in logs.items()}
    for answer in unnamed:
        name = answer.place.target[1:]
        target = targets.get(name, "") if name in md5_names else location(answer.place.target)
        if target:
            by = [page for page, log in logs.items() if name in log.renamed]
            by += [page for page in logs if answer.place.host in hosts[page]]
            yield replace(answer, place=changed(answer.place, target=target.partition("#")[0]),
                          exchange=changed(answer.exchange, page=(by or list(logs))[0]))


def _targets_in_bodies(recording: Recording, mirror: Path, wanted: Collection[str]) -> dict[str, str]:
    """Return the path and query of each URL in a text of the mirror whose MD5 is `wanted`, by that MD5."""
    found: dict[str, str] = {}
    for host, files in recording.files.items() if wanted else ():
        for file in files:
            with suppress(UnreadableFileError):
                body = read_untrusted(mirror / host / file, limit=LARGEST_TEXT)
                text = "" if b"\0" in body else body.decode("utf-8", "replace").replace("\\/", "/")
                targets = {url[1] for form in (text, html.unescape(text)) for url in URL.finditer(form)}
                found |= {md5: target for target in targets if (md5 := md5_name(target)) in wanted}
    return found


def _hosts_in(log: PageLog) -> set[str]:
    urls = [transaction.url for transaction in log.transactions] + [response.url for response in log.responses]
    return {resolve.name.rpartition(":")[0] for resolve in log.resolves} | {
        url.partition("//")[2].partition("/")[0] for url in urls}
