"""Files of a mirror that no log names: mirrors of 2013's format have many, and their replay answers with them.

The scraper of 2013 kept more bodies than its logs have responses: 356 of the 612 of the paper's pages. Of what it
called by an MD5 the URL stands in a log (`PageLog.renamed`), or in the page that refers to it.
"""

import dataclasses
import html
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from harness.files.text_log import PageLog
from harness.mirror.answers import RecordedAnswer
from harness.mirror.headers import location
from harness.mirror.paths import INDEX, is_md5_name, md5_name
from harness.mirror.recording import Recording
from harness.system.untrusted import UnreadableFileError, read_untrusted

URL = re.compile(r"""(?:https?:)?(?://[\w.-]+)?(/[^\s"'<>()\\]+)""")
"""A URL, or the path of one, in a text; its path and query."""
LARGEST_TEXT = 10_000_000
"""Bytes."""


def unlogged_answers(recording: Recording, mirror: Path, logs: Mapping[str, PageLog]) -> Iterator[RecordedAnswer]:
    """Give an answer for each file that no transaction has, if its URL can be told, host by host.

    `logs` are the pages' text logs by name. An answer's `page` is that of the first log that names its file, else its
    host, else the first of all.
    """
    files = _unlogged_files(recording)
    targets = {file: target for log in logs.values() for file, target in log.renamed.items()}
    targets |= _targets_in_bodies(recording, mirror, {file for _, file in files if is_md5_name(file)} - targets.keys())
    hosts = {name: _hosts_in(log) for name, log in logs.items()}
    for host, file in files:
        target = targets.get(file, "") if is_md5_name(file) else "/" if file == INDEX else f"/{location(file)}"
        found = recording.exact(recording.schemes(host)[0], host, target.partition("#")[0]) if target else ()
        if found and found[0].file == f"{host}/{file}":
            by = [name for name, log in logs.items() if file in log.renamed] + [name for name in logs
                                                                               if host in hosts[name]]
            yield dataclasses.replace(found[0], page=(by or list(logs))[0])


def _unlogged_files(recording: Recording) -> list[tuple[str, str]]:
    """Return the host and name of each file that is no recorded answer's."""
    logged = {answer.file for of_origin in recording.answers.values()
              for sequence in of_origin.values() for answer in sequence}
    return [(host, file) for host, files in recording.files.items() for file in sorted(files)
            if f"{host}/{file}" not in logged]


def _targets_in_bodies(recording: Recording, mirror: Path, wanted: set[str]) -> dict[str, str]:
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
