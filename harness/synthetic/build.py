"""Makes ``NAME/`` and ``NAME.fetchlog/`` for the pages of ``NAME.pages``, and puts them in place when complete.

Both are made and put there as a recording's are (harness.mirror.store): with the log that a recording of the page would
have left, 2013's times, and the answers the servers are to give. A recording is never replaced.

URLs have exactly the length that the real ones had, and say what they are: ``/img12-8f3c09....png``. A request must fit
into the SYN, so the length counts; the words do not.
"""

import hashlib
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from harness.errors import InputError, many
from harness.files.pages import Page, PageFiles, read_pages
from harness.files.text_log import PageLog, Response, Transaction, format_log
from harness.mirror.importing import complete
from harness.mirror.manifest import MANIFEST, damage
from harness.mirror.paths import write_file
from harness.mirror.recording import read_recording
from harness.mirror.store import Store, new_store
from harness.synthetic.content import make_contents
from harness.synthetic.page_plan import REDIRECT_STATUS, NodeKind, PagePlan, make_plan
from harness.synthetic.shape import SHAPE_FILE, PageShape, Resource, over_tls, path_of, read_shapes
from harness.system.atomic import write_atomically
from harness.system.untrusted import UnreadableFileError, read_untrusted_json

DEFAULT_SEED = 1
NOTE = "Made by scripts/make_pages.py from a page-shape file ({name}): no content of the real pages."
EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "text/css": ".css", "text/plain": ".txt",
              "application/json": ".json", "application/x-shockwave-flash": ".swf", "text/html": ".html"}
LONGEST_NAME = 60
"""Characters; longer paths get a query, as nearly all of 2013's did."""
LEAST_OF_ANOTHER = 8
"""Characters of a path whose like, such as "/", is taken: there are enough of these."""
LEAST_DIGITS = 7
"""Digits that tell a path from others; where there is no room for more, the path has nothing else."""


@dataclass(frozen=True)
class SyntheticPage:
    """One page made from its shape. `urls` are its resources' whole URLs and `bodies` what they hold, both by index."""

    shape: PageShape
    plan: PagePlan
    urls: list[str]
    bodies: dict[int, bytes]


def make_page_set(shapes: list[PageShape], seed: int) -> list[SyntheticPage]:
    """Make all pages in memory. The same shapes and seed give the same bytes."""
    taken: set[tuple[str, str]] = set()
    pages = []
    for shape in shapes:
        plan = make_plan(shape)
        paths = make_paths(plan, shape.url, seed, taken)
        urls = [f"{resource.scheme}://{resource.host}{path}"
                for resource, path in zip(shape.resources, paths, strict=True)]
        pages.append(SyntheticPage(shape, plan, urls, make_contents(plan, urls, seed, shape).bodies))
    return pages


def make_pages(directory: Path, name: str, seed: int, shape_file: Path = SHAPE_FILE, *, https: bool = False) -> str:
    """Make the mirror and logs of ``<directory>/<name>.pages`` unless they are there; return in one line what was done.

    With `https` all of the pages is over TLS. Without such a list it is made of all pages of a `shape_file` other than
    the project's own, and of the project's own over TLS.

    Raises InputError when the list of pages is unusable, has a page whose figures are not in the shape file, or when
    only one of mirror and logs is there.
    """
    files = PageFiles(directory, name)
    mirror, logs = files.mirror, files.fetchlog
    known = {shape.url: shape for shape in (over_tls(each) if https else each for each in read_shapes(shape_file))}
    if (https or shape_file != SHAPE_FILE) and not files.pages.exists():
        write_atomically(files.pages, "".join(f"{url}\n" for url in known))
    pages = read_pages(files.pages)
    source = _source_hash(shape_file)
    manifest = _manifest(logs)
    if manifest is None and (mirror.exists() or logs.exists()):
        if mirror.exists() and logs.exists():
            return f"{mirror}/ is a recording: left as it is"
        raise InputError(f"{mirror}:1: mirror and {logs.name} belong together, one is missing; move the other one away")
    wanted = {"seed": seed, "made_from": source, "pages": [page.url for page in pages]}
    if manifest is not None and _has_all(manifest, wanted, files):
        return f"{mirror}/ is complete (synthetic, seed {seed}): nothing to do"
    if missing := [page.url for page in pages if page.url not in known]:
        raise InputError(f"{files.pages}:1: no figures of {missing[0]} to make it from; record it with "
                         f"./fetch.py --name {name}")
    note = NOTE.format(name=shape_file.name)
    with new_store(files) as store:
        made = make_page_set([known[page.url] for page in pages], seed)
        _write(made, pages, store, {"note": note, **wanted})
        store.publish()
    count = sum(len(page.urls) for page in made)
    return f"{mirror}/ made: {many(len(made), 'synthetic page')} of {many(count, 'resource')}, seed {seed}"


def _write(made: list[SyntheticPage], pages: list[Page], store: Store, wanted: dict[str, object]) -> None:
    """Write mirror and logs."""
    for synthetic, page in zip(made, pages, strict=True):
        for index, body in synthetic.bodies.items():
            write_file(store.mirror, synthetic.urls[index], body)
        heading = f"Synthetic page: made from figures of {synthetic.shape.month}, not recorded.\n\n"
        log = format_log(make_log(synthetic.plan, synthetic.urls))
        (store.fetchlog / page.name).write_text(heading + log, encoding="ascii")
    http2_hosts = sorted({host for synthetic in made for host in synthetic.shape.http2_hosts})
    complete(store.fetchlog, store.mirror, "synthetic", wanted, http2_hosts)


def _source_hash(shape_file: Path) -> str:
    """The figures and the code that the pages are made from: when they change, so do the pages."""
    digest = hashlib.sha256()
    for path in [shape_file, *sorted(Path(__file__).parent.glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _manifest(logs: Path) -> dict[str, object] | None:
    """The manifest of synthetic logs, None when there are none or they are a recording's."""
    try:
        manifest = read_untrusted_json(logs / MANIFEST)
    except UnreadableFileError:
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("source") == "synthetic" else None


def _has_all(manifest: dict[str, object], wanted: dict[str, object], files: PageFiles) -> bool:
    """Say whether what is there was made of the same, and is all there."""
    same = all(manifest.get(key) == value for key, value in wanted.items())
    if not same or not files.mirror.is_dir():
        return False
    return not damage(read_recording(files.mirror, files.fetchlog).bodies, files.mirror)


def make_log(plan: PagePlan, urls: list[str]) -> PageLog:
    """Return the log of a page whose resources have these whole `urls`, by index; look-ups of 2013 were not kept."""
    by_end = sorted(plan.resources, key=lambda resource: (resource.end_ms, resource.index))
    return PageLog(
        transactions=[Transaction(resource.start_ms, resource.end_ms, urls[resource.index]) for resource in by_end],
        responses=[_response(plan, resource, urls) for resource in by_end], transactions_seen=True)


def _response(plan: PagePlan, resource: Resource, urls: list[str]) -> Response:
    node, target = plan.node_of(resource.index), resource.redirect_to
    mime = resource.mime or ("application/x-javascript" if node.kind is NodeKind.SCRIPT else "image/gif")
    status = REDIRECT_STATUS if target is not None else "No Content" if node.no_content else "OK"
    return Response(status, mime, resource.charset or "", urls[resource.index],
                    None if target is None else urls[target])


def make_paths(plan: PagePlan, page_url: str, seed: int, taken: set[tuple[str, str]]) -> list[str]:
    """Return path and query of each resource of a page, by index.

    Each has exactly its resource's `path_chars` characters, but for a short one that was asked for twice. `taken` holds
    the (host, path) pairs of the pages before this one; the new ones are not among them, and are added. The first
    resource keeps the page's own path.
    """
    paths = []
    for resource in plan.resources:
        name = f"{plan.node_of(resource.index).kind.value}{resource.index}-"
        tries = (_path(f"{seed} {page_url} {resource.index} {number}",
                       max(resource.path_chars, LEAST_OF_ANOTHER if number else 1), name,
                       _extension(plan, resource.index)) for number in count())
        path = path_of(page_url) if resource.index == 0 else next(tries)
        while (resource.host, path) in taken:
            path = next(tries)
        taken.add((resource.host, path))
        paths.append(path)
    return paths


def _extension(plan: PagePlan, index: int) -> str:
    mime = plan.resources[index].mime or ""
    is_script = "javascript" in mime or (not mime and plan.node_of(index).kind is NodeKind.SCRIPT)
    return ".js" if is_script else EXTENSIONS.get(mime or "image/gif", "")


def _path(key: str, length: int, name: str, extension: str) -> str:
    """Return a path of so many characters that no other `key` has."""
    digits = hashlib.sha256(key.encode()).hexdigest()
    if length > LONGEST_NAME:
        start = f"/{name}{digits[:LEAST_DIGITS]}{extension}?id="
        return start + (digits * length)[:length - len(start)]
    room = length - len(f"/{name}{extension}")
    return f"/{name}{digits[:room]}{extension}" if room >= LEAST_DIGITS else f"/{digits[:length - 1]}"
