"""Read a source into a recording of our own format, in a child of this process: anybody may have written the file.

    python -m harness.record.sources.reader SOURCE INTO BYTES SECONDS

reads the URLs of the pages that are wanted from standard input (JSON; null: those that the source names), and leaves in
INTO the folders of a recording (harness.mirror.store) and a Brought. Its status is 2 with one line for what cannot be
read. The kernel gives it so many bytes of memory and seconds of a processor, whatever the file holds.
"""

import json
import resource
import signal
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import IO

import msgspec
from msgspec.structs import replace

from harness.bootstrap import ROOT
from harness.errors import NO_FAULT_OF_OURS, ExperimentError, InputError, first_few, many
from harness.files.exchange import Exchange, Fate
from harness.files.har_file import BROKEN_ZIP
from harness.files.pages import listable, sanitise
from harness.files.urls import document_url, names_port
from harness.mirror.asked import Asked, headers_of
from harness.record.sources.body import CACHED, MOST_BYTES, NOISE, TOO_MUCH
from harness.record.sources.brought import Brought, Figures, Missing, mask, same_name
from harness.record.sources.har import HarSource, has_bodies
from harness.record.sources.temporary import TemporaryRecording
from harness.record.sources.wacz import wacz_pages, warcs_in
from harness.record.sources.warc import WarcSource
from harness.synthetic.from_har import rtts_of_har, shapes_of_har
from harness.synthetic.shape import check_sizes, format_shapes
from harness.system.processes import bound_to_us, stop
from harness.system.untrusted import UnreadableFileError, open_untrusted

WARCS = (".warc", ".warc.gz", ".arc", ".arc.gz")
HARS = (".har", ".har.gz", ".har.json", ".zip")
KINDS = "a .har (or .zip with one), .warc, .warc.gz or .wacz file"
MOST_MEMORY = 2**30
MOST_CPU_S, MOST_S = 60, 600
"""What a child may take: bytes of memory, seconds of a processor, and seconds in all."""
MOST_FILE_BYTES = 16_000_000_000
MOST_DOCUMENTS = 3
OUTPUT = "brought.msgpack"


def bring(source: Path, wanted: Sequence[str] | None, into: Path) -> Brought:
    """Have a child read `source` into `into`. Raises InputError for what cannot be read."""
    try:
        with open_untrusted(source, limit=MOST_FILE_BYTES):
            pass
    except UnreadableFileError as error:
        raise InputError(f"{error}; give {KINDS}") from None
    process = subprocess.Popen(
        bound_to_us([sys.executable, "-m", "harness.record.sources.reader", str(source.absolute()), str(into),
                     str(MOST_MEMORY), str(MOST_CPU_S)]),
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        _, said = process.communicate(json.dumps(wanted).encode(), MOST_S)
    except subprocess.TimeoutExpired:
        raise InputError(f"{source}:1: cannot be read (it takes more than {MOST_S} s); give a smaller one") from None
    finally:
        stop(process)
    if process.returncode == 0:
        return msgspec.msgpack.decode((into / OUTPUT).read_bytes(), type=Brought)
    last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if process.returncode == 2:
        raise InputError(last.replace(str(source.absolute()), str(source), 1))
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        last = f"it takes more than {MOST_CPU_S} s"
    raise InputError(f"{source}:1: cannot be read ({last}); give a smaller one")


def read_into(source: Path, wanted: Sequence[str] | None, into: Path) -> Brought:
    """Read `source` into a recording in `into`. Raises InputError."""
    name = source.name.lower()
    if name.endswith(HARS):
        return _har_into(source, wanted, into)
    if name.endswith((*WARCS, ".wacz")):
        return _warcs_into(source, wanted, into)
    raise InputError(f"{source}:1: a source of an unknown kind; give {KINDS}")


def _har_into(source: Path, wanted: Sequence[str] | None, into: Path) -> Brought:
    har = HarSource(source)
    writer = TemporaryRecording(into, har.pages, _names(wanted, har.pages.values()), har.load_ends)
    brought = _written(source, har, writer, har.pages)
    for page, entry in har.live:
        writer.add_live(entry, page)
    writer.finish()
    brought.asked_for = _asked_for(writer.seen, har.pages, har.load_ends)
    if not has_bodies(writer.seen, har.pages):
        shapes = shapes_of_har(writer.seen, har.pages)
        kept = recordable([shape.url for shape in shapes])
        fitting = [shape for shape in shapes if shape.url in kept]
        check_sizes(fitting, str(source))
        brought.figures = Figures(format_shapes(fitting) if fitting else "", rtts_of_har(writer.seen, fitting),
                                  [shape.url for shape in shapes if shape.url not in kept],
                                  any(each.page for each in writer.seen))
    return brought


def _warcs_into(source: Path, wanted: Sequence[str] | None, into: Path) -> Brought:
    warcs = WarcSource(str(source))
    try:
        with ExitStack() as stack:
            files: Iterator[IO[bytes]]
            pages: Sequence[str] = ()
            if source.name.lower().endswith(".wacz"):
                archive = stack.enter_context(zipfile.ZipFile(source))
                files, pages = warcs_in(source, archive), wacz_pages(source, archive)
            else:
                files = iter([stack.enter_context(source.open("rb"))])
            writer = TemporaryRecording(into, {}, _names(wanted, pages), {})
            brought = _written(source, warcs.exchanges(files), writer, {url: url for url in pages})
            writer.finish()
    except OSError as error:
        if error.errno in NO_FAULT_OF_OURS:     # such as a full disk
            raise
        raise InputError(f"{source}:1: cannot be read ({error.strerror}); give a WARC or WACZ file") from None
    except BROKEN_ZIP as error:
        raise InputError(f"{source}:1: not a WACZ ({error}); give a zip as Webrecorder's tools make") from None
    brought.remarks = [*warcs.remarks, *brought.remarks]
    return brought


def _names(wanted: Sequence[str] | None, of_source: Iterable[str]) -> dict[str, str]:
    """Return the log's name of each page that is wanted, by what archives file its URL under."""
    urls = recordable(list(of_source)) if wanted is None else wanted
    return {same_name(url): sanitise(url) for url in urls}


def _written(source: Path, exchanges: Iterable[Exchange], writer: TemporaryRecording, pages: Mapping[str, str]
             ) -> Brought:
    brought = Brought(source.name, pages=list(pages.values()))
    wrong: list[str] = []
    noise: list[str] = []
    total = 0
    for exchange in exchanges:
        answer = exchange.answer
        total += len(answer.content or b"")
        if total > MOST_BYTES:
            raise InputError(f"{source}:1: {TOO_MUCH}")
        if not exchange.request.url:
            wrong.append(exchange.error)
            continue
        url = document_url(exchange.request.url)
        if exchange.error:
            is_decoded = exchange.error == CACHED and not answer.mime_type.startswith(("image/", "font/"))
            brought.missing[url] = Missing(exchange.error, 0 if is_decoded else max(0, answer.body_bytes))
            noise += [url] if exchange.error == NOISE else []
        writer.add(replace(exchange, request=replace(exchange.request, url=url)))
    brought.exchanges = writer.exchanges
    brought.documents = _documents(writer.exchanges)
    for what, found in ((f"whose body cannot be what it is called, or has another size: {first_few(noise)}", noise),
                        (f"that does not have its form ({wrong[0]})" if wrong else "", wrong)):
        if found:
            brought.remarks.append(f"{many(len(found), 'answer')} {what}, which count as missing")
    return brought


def _documents(exchanges: Sequence[Exchange]) -> list[str]:
    """Return the URLs of the first HTML documents, as browsers would ask for them."""
    html = [each.request.url for each in exchanges if each.request.method == "GET"
            and each.answer.status == HTTPStatus.OK and "html" in each.answer.mime_type.lower()
            and Asked(headers_of(each.request.headers)).purpose != (False, True)]
    return list(dict.fromkeys(html))[:MOST_DOCUMENTS]


def _asked_for(exchanges: Sequence[Exchange], pages: Mapping[str, str], load_ends: Collection[str]
               ) -> dict[str, list[str]]:
    """Return which URLs (`mask`) the recorded load of each page got up to its load event, by the page's URL.

    Where that event is not known the browser itself may have asked for things, and another page may follow: then it is
    what the page referred to, if anything is told of that.
    """
    asked = {}
    for page, url in pages.items():
        got = [each for each in exchanges if each.page == page and each.answer.status
               and each.fate is not Fate.AFTER_LOAD]
        if page not in load_ends and any(each.request.header("referer") for each in got):
            site = url[:url.index("/", url.index("//") + 2) + 1]
            got = [each for each in got if each.request.header("referer") in (url, site)]
        asked[document_url(url)] = sorted({mask(each.request.url) for each in got})
    return asked


def recordable(urls: Sequence[str]) -> list[str]:
    """Return those URLs that can be recorded together: their file names are not too long, nor one like the other, and
    they are on a port that a replay has.
    """
    return listable(url for url in urls if not names_port(url))


def main(arguments: list[str]) -> int:
    """Read the source; the exit status is 2 when it cannot be read."""
    source, into = Path(arguments[0]), Path(arguments[1])
    most_memory, most_cpu_s = map(int, arguments[2:])
    wanted = json.load(sys.stdin)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + most_memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (most_cpu_s, most_cpu_s + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        brought = read_into(source, wanted, into)
        (into / OUTPUT).write_bytes(msgspec.msgpack.encode(brought))
    except (InputError, ExperimentError) as error:
        print(error, file=sys.stderr)
        return 2
    except MemoryError:
        print(f"{source}:1: cannot be read (it takes more than {most_memory / 2**30:g} GB of memory); give a smaller "
              "one", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or into}: {error.strerror or error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
