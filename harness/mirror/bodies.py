"""Whether a recording's bodies are all there, and as they were recorded: exchanges name their files, sizes, hashes."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.errors import shortened
from harness.files.exchange import Body
from harness.mirror.exchanges import PageExchanges
from harness.mirror.paths import list_files, open_file

CHUNK_BYTES = 2**20


def list_bodies(mirror: Path) -> dict[str, Body]:
    """Return every file of a mirror by its name, ``host/file``, with what it holds."""
    return {name: body_in(mirror, name) for name in sorted(list_files(mirror)) if "/" in name and _is_text(name)}


def bodies_of(pages: Iterable[PageExchanges]) -> dict[str, Body]:
    """Return the files that exchanges name: of a file that several name, as one of them tells its size."""
    named = [body for page in pages for exchange in page.exchanges if (body := exchange.answer.body) is not None]
    return {body.file: body for body in sorted(named, key=lambda body: body.bytes is not None)}


def damage(bodies: Mapping[str, Body], mirror: Path) -> str:
    """Return in words which of the recorded `bodies` are missing from the mirror or are others now, "" when none is."""
    directory = os.open(mirror, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        states = {name: _is_as_recorded(directory, body) for name, body in bodies.items()}
    finally:
        os.close(directory)
    found = {what: [name for name, state in states.items() if state is what] for what in (None, False)}
    return "; ".join(f"{len(names)} of {len(bodies)} bodies of {mirror.name}/ {'is' if len(names) == 1 else 'are'} "
                     f"{'missing' if what is None else 'not as recorded'}, first {shortened(names[0])}"
                     for what, names in found.items() if names)


def _is_as_recorded(directory: int, recorded: Body) -> bool | None:
    """Say whether a body is what was recorded, None where it is missing."""
    try:
        descriptor = open_file(directory, recorded.file)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if recorded.bytes not in (None, os.fstat(descriptor).st_size):
            return False
        if not recorded.sha256:
            return True
        digest = hashlib.sha256()
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest() == recorded.sha256


def body_in(mirror: Path, name: str) -> Body:
    """Return a file of a mirror, ``host/file``, with what it holds."""
    content = (mirror / name).read_bytes()
    return Body(name, len(content), hashlib.sha256(content).hexdigest())


def _is_text(name: str) -> bool:
    """Say whether JSON can hold the name: it cannot where the file system's is no UTF-8."""
    return name.isascii() or name.encode("utf-8", "replace").decode() == name
