"""Read a source into a Brought, in a child of this process: anybody may have written the file.

It leaves a Brought and the folder of its bodies. The kernel gives it so much memory and time of a processor, whatever
the file holds.
"""

import gc
import resource
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from harness.errors import NO_FAULT_OF_OURS, InputError, many
from harness.files.hosts import is_host_name
from harness.files.pages import listable, sanitise
from harness.files.urls import document_url, names_port
from harness.record.sources.body import MOST_BYTES, TOO_MUCH
from harness.record.sources.brought import BODIES, Brought, Source, same_name
from harness.record.sources.har import har_source
from harness.record.sources.warc import BROKEN_ZIP, warc_source
from harness.system.background import call_forked
from harness.system.untrusted import UnreadableFileError, open_untrusted

WARCS = (".warc", ".warc.gz", ".wacz")
HAR = (".har", ".har.json")
KINDS = "a .har, .warc, .warc.gz or .wacz file"
MOST_MEMORY = 2**30
MOST_CPU_S, MOST_S = 60, 600
"""What a child may take: bytes of memory, seconds of a processor, and seconds in all."""
MOST_FILE_BYTES = 16_000_000_000
OUTPUT = "brought.msgpack"
OTHERS = "of-no-page"
"""The log of what belongs to no page that is wanted."""


def bring(source: Path, wanted: Sequence[str] | None, into: Path) -> Brought:
    """Have a child read `source` into `into`. Raises InputError for what cannot be read."""
    try:
        with open_untrusted(source, limit=MOST_FILE_BYTES):
            pass
    except UnreadableFileError as error:
        raise InputError(f"{error}; give {KINDS}") from None
    with TemporaryFile() as errors:
        try:
            status = call_forked(partial(_within_limits, source, wanted, into), "reader", errors, MOST_S)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    if status == 0:
        return msgspec.msgpack.decode((into / OUTPUT).read_bytes(), type=Brought)
    if status == InputError.status:
        raise InputError(said)
    raise InputError(f"{source}:1: cannot be read in {MOST_CPU_S} s with {MOST_MEMORY / 2**30:g} GB of memory "
                     f"({said or 'ended'}); give a smaller one")


def _within_limits(source: Path, wanted: Sequence[str] | None, into: Path) -> int:
    """Read the source, with no more memory than now and MOST_MEMORY, and leave what was read."""
    gc.enable()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + MOST_MEMORY
    for limit, value in ((resource.RLIMIT_AS, most), (resource.RLIMIT_CPU, MOST_CPU_S), (resource.RLIMIT_CORE, 0),
                         (resource.RLIMIT_FSIZE, MOST_BYTES)):
        resource.setrlimit(limit, (value, value))
    (into / OUTPUT).write_bytes(msgspec.msgpack.encode(read_into(source, wanted, into)))
    return 0


def read_into(path: Path, wanted: Sequence[str] | None, into: Path) -> Brought:
    """Read the source at `path`, its bodies into `into`. Raises InputError."""
    name = path.name.lower()
    if not name.endswith((*HAR, *WARCS)):
        raise InputError(f"{path}:1: a source of an unknown kind; unpack it, or give {KINDS}")
    try:
        return _brought(path, har_source(path) if name.endswith(HAR) else warc_source(path), wanted, into)
    except UnreadableFileError as error:
        raise InputError(f"{error}; give {KINDS}") from None
    except (*BROKEN_ZIP, OSError) as error:
        if isinstance(error, OSError) and error.errno in NO_FAULT_OF_OURS:     # such as a full disk
            raise
        words = " ".join(str(error).split())[:160]
        raise InputError(f"{path}:1: cannot be read ({words}); give {KINDS}") from None


def _brought(path: Path, source: Source, wanted: Sequence[str] | None, into: Path) -> Brought:
    """Keep the exchanges of a source, each with the log of its page, by their URLs as browsers ask for them."""
    brought = Brought(path.name, pages=list(source.pages.values()))
    logs = {same_name(url): sanitise(url) for url in (recordable(brought.pages) if wanted is None else wanted)}
    log_of_page = {page: logs[name] for page, url in source.pages.items() if (name := same_name(url)) in logs}
    brought.load_ends = {log: source.load_ends[page] for page, log in log_of_page.items() if page in source.load_ends}
    (into / BODIES).mkdir()
    log, errors, total = OTHERS, Counter[str](), 0
    is_har, lost_pages = path.name.lower().endswith(HAR), set[str]()
    for exchange in source.exchanges:
        answer, url = exchange.answer, document_url(exchange.request.url)
        total += len(answer.content or b"")
        if total > MOST_BYTES:
            raise InputError(f"{path}:1: {TOO_MUCH}")
        if exchange.error:
            errors[exchange.error] += 1
            lost_pages |= {url} if is_har and same_name(url) in logs else set()
        # What a script got later from a page's URL is not the page.
        elif not answer.status or not is_host_name(urlsplit(url).hostname or "") or url in lost_pages:
            continue
        elif exchange.request.method == "GET":
            log = logs.get(same_name(url), log)         # what names no page belongs to the one that came last
        other = OTHERS if exchange.page in source.pages else log        # of a page that nobody wants
        if url:
            brought.keep(replace(exchange, page=log_of_page.get(exchange.page, other),
                                 request=replace(exchange.request, url=url)), into)
    brought.remarks += source.remarks
    if errors:
        kinds = ", ".join(f"{count} x {what}" for what, count in errors.items())
        brought.remarks.append(f"{many(errors.total(), 'answer')} missing in it: {kinds}")
    return brought


def recordable(urls: Sequence[str]) -> list[str]:
    """Return those URLs that can be recorded together: their file names are not too long, nor one like the other, and
    they are on a port that a replay has.
    """
    return listable(url for url in urls if not names_port(url))
