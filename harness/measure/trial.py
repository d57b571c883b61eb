"""Loads each page of a recording from servers on loopback: without root, without a star, without any delay.

One good load is enough. If none is, none of an experiment would be: too much of the page is missing, say, or its
document is not the recorded one. Times are not judged: there is no simulated network here.
"""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.browser.program import require_shim
from harness.errors import ExperimentError, InputError
from harness.files import load_mark
from harness.files.hack_dns import Remap, write_hack_dns
from harness.files.load_har import read_har_log
from harness.files.load_parts import Coverage
from harness.files.load_record import FORMAT, LoadRecord
from harness.files.pages import Page, PageFiles
from harness.files.result_names import HACK_DNS
from harness.files.server_log import ServerRequest, directory_name, read_server_logs
from harness.measure.chrome_run import options_as_recorded
from harness.measure.client_log import REPORT
from harness.measure.coverage import at_any_time, coverage, recorded_page
from harness.measure.judge import judged_alone
from harness.measure.laboratory import LOAD_PAGE
from harness.measure.preflight import document_bytes
from harness.measure.reason import TRIES, Blame, Reason, texts, verdict_on_the_page
from harness.measure.received import received_answers
from harness.measure.rule import Section
from harness.measure.rules import RULES
from harness.mirror.bodies import damage
from harness.mirror.recording import Recording, read_recording
from harness.network.loopback import loopback_star
from harness.network.servers import ServerSettings, running_servers
from harness.replay.authority import open_authority
from harness.system.privileges import User, browsing_user, give
from harness.system.processes import bound_to_us, stop
from harness.system.scratch import temporary_directory
from harness.system.untrusted import UnreadableFileError, read_untrusted_json

QUIET_S, QUIET_LIMIT_S = 0.5, 3.0
"""What comes after the load event counts for nothing here."""
OF_THE_CONTENT = [rule for rule in RULES if rule.section is Section.CONTENT]
MARGIN_S = 40.0
"""What a load may take beside its wait for the load event: Chrome's start and end, slow answers to questions."""


@dataclass(frozen=True)
class Trial:
    """The result for one page. `unfit` says why it is not fit to be measured, `failed` why that is not known.

    `coverage` is what the last load got of the recording, None where there was no load event.
    """

    unfit: tuple[str, ...] = ()
    failed: str = ""
    coverage: Coverage | None = None


@dataclass(frozen=True)
class _Loopback:
    """Running servers: what they serve, how Chrome finds them, and what they write."""

    files: PageFiles
    recording: Recording
    directory: Path
    hack_dns: Path
    mark: Path
    logs: Path
    trusted_key: str
    shim: Path
    user: User


def try_pages(files: PageFiles, pages: Sequence[Page], timeout_s: float) -> dict[Page, Trial]:
    """Load each of `pages` from its recording; its load event must come within `timeout_s`.

    Raises InputError when the recording's bodies are not all there: a disk may say that it has written what it has not.
    """
    recording = read_recording(files.mirror, files.fetchlog)
    if damaged := damage(recording.bodies, files.mirror):
        raise InputError(f"{damaged}; record it again")
    sizes = document_bytes(files, recording, pages)
    with _loopback(files, recording) as servers:
        return {page: _try(servers, page, timeout_s, sizes[page]) for page in pages}


def load_once(files: PageFiles, page: Page, timeout_s: float) -> LoadRecord:
    """Load `page` once from its recording; return which answers came. Raises ExperimentError, InputError."""
    with _loopback(files, read_recording(files.mirror, files.fetchlog)) as servers:
        return _load(servers, page, timeout_s)


def _try(servers: _Loopback, page: Page, timeout_s: float, recorded_bytes: Collection[int]) -> Trial:
    """Load `page` until a load is good, TRIES times at most."""
    got: Coverage | None = None

    def judged() -> Iterator[Sequence[Reason]]:
        nonlocal got
        for _ in range(TRIES):
            load = _load(servers, page, timeout_s)
            got = load.answers.coverage if load.answers else None
            if load.document:
                load = replace(load, document=replace(load.document, recorded_bytes=tuple(recorded_bytes)))
            yield judged_alone(load, OF_THE_CONTENT)

    try:
        verdict = verdict_on_the_page(judged())
    except (ExperimentError, InputError) as error:
        return Trial(failed=str(error))
    own = [reason for reason in verdict if reason.blame is Blame.PAGE]
    return Trial(tuple(texts(own)), "" if own or not verdict else texts(verdict)[0], got)


@contextmanager
def _loopback(files: PageFiles, recording: Recording) -> Iterator[_Loopback]:
    """Serve all hosts of the recording while this lasts."""
    with temporary_directory() as directory:
        star = loopback_star(recording.hosts())
        ports = dict(zip(("http", "https"), _free_ports(), strict=True))
        write_hack_dns(directory / HACK_DNS, [Remap(name, host.address, ports[scheme], scheme) for name, host
                                              in star.servers.items() for scheme in recording.schemes(name)])
        settings = ServerSettings(
            mirror=files.mirror, fetchlog=files.fetchlog, port=ports["http"], tls_port=ports["https"], http="recorded",
            server="threaded", logdir=directory / "logs", delays_ms=(0.0,), user=None,
            authority=directory / "authority")
        key = open_authority(directory / "authority").fingerprint
        shim = Path(shutil.copy(require_shim(), directory))
        with running_servers(star, settings, directory):
            yield _Loopback(files, recording, directory, directory / HACK_DNS, directory / load_mark.NAME,
                            settings.logdir, key, shim, browsing_user())


def _free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        return first.getsockname()[1], second.getsockname()[1]


def _load(servers: _Loopback, page: Page, timeout_s: float) -> LoadRecord:
    """Load `page`; return a record that only says which answers came. Raises ExperimentError, InputError."""
    work_dir = Path(tempfile.mkdtemp(prefix="load-", dir=servers.directory))
    give(work_dir, servers.user)
    load_mark.mark_load(servers.mark, page.name)
    began_s = time.time()
    command = [sys.executable, str(LOAD_PAGE), page.url, "--hack-dns", str(servers.hack_dns), "--work-dir",
               str(work_dir), "--interface", "lo", "--user", f"{servers.user.uid}:{servers.user.gid}", "--shim",
               str(servers.shim), "--trusted-key", servers.trusted_key, "--timeout", str(timeout_s),
               "--quiet", str(QUIET_S), "--quiet-limit", str(QUIET_LIMIT_S),
               *options_as_recorded(page, servers.recording.manifest.user_agents,
                                    servers.recording.asked_as(page.url))]
    process = subprocess.Popen(bound_to_us(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait(timeout_s + MARGIN_S)
    except subprocess.TimeoutExpired:
        raise ExperimentError(f"Chrome did not end within {timeout_s + MARGIN_S:g} s") from None
    finally:
        stop(process)
    report = read_untrusted_json(work_dir / REPORT, owner=servers.user.uid)
    requests = [request for tfo in (0, 1) for request in read_server_logs(servers.logs / directory_name(0, tfo))
                if request.time_s >= began_s]
    return _record(report, page, work_dir / f"{page.name}.har", requests, servers)


def _record(report: Any, page: Page, har: Path, requests: Sequence[ServerRequest], servers: _Loopback) -> LoadRecord:
    try:
        names = ("errors", "timed_out_s", "moved_on_to", "clock_set_ms", "plt_ms", "navigation_timing", "document",
                 "failed_requests")
        said = {name: report[name] for name in names if name in report}
        record = LoadRecord.from_json({**said, "format": FORMAT, "url": page.url, "page": page.name, "delaynet_ms": 0,
                                       "rtt_ms": 0, "tfo": 0, "run": 0, "valid": True, "why_not": []})
        if record.errors or record.timed_out_s or record.moved_on_to:
            return record
        log = read_har_log(har)
        began = datetime.fromisoformat(log["pages"][0]["startedDateTime"])
        answers = received_answers(log["entries"], began, record.load_event, requests, None,
                                   silent=servers.recording.silent.get(page.name, ()))
    except UnreadableFileError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise ExperimentError(f"what Chrome's side says of the load makes no sense ({error})") from None
    recorded = recorded_page(servers.recording, servers.files.mirror, page.name)
    return at_any_time(replace(record, answers=replace(answers, coverage=coverage(answers, recorded))), recorded)
