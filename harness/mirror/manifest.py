"""The manifest of a recording, ``NAME.fetchlog/manifest.json``: where it comes from, and what its HARs do not tell; and
whether its bodies are all there, and as they were recorded: exchanges name their files, sizes and hashes.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from harness.errors import InputError, shortened
from harness.files.exchange import Body
from harness.mirror.exchanges import PageExchanges
from harness.mirror.paths import open_below
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted_json

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 2
USER_AGENT = re.compile(r"[\x20-\x7e]{1,1000}")
"""What a browser may say that it is."""
CHUNK_BYTES = 2**20
GONE, CHANGED = "missing", "not as recorded"
"""What may become of a recorded body."""


class ListedBody(msgspec.Struct, frozen=True):
    """What a file of the mirror holds."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """Where a recording comes from: `source` is "synthetic", "recorded", or "made" (by a program).

    `bodies` are the files of its mirror that no exchange names, by their name (``host/file``). `content` is all that
    stands in the file.
    """

    format: Any = MANIFEST_FORMAT
    source: str = "recorded"
    note: str = ""
    pages: list[Any] = []
    """Of a recording objects that name a `page` and its `user_agent`; of synthetic pages URLs."""
    bodies: dict[str, ListedBody] = {}
    content: dict[str, Any] = {}

    @property
    def synthetic(self) -> bool:
        """Whether the pages were made by the project itself."""
        return self.source == "synthetic"

    @property
    def user_agents(self) -> dict[str, str]:
        """What Chrome said that it is when it recorded a page, by the page's name."""
        return {str(page.get("page")): agent for page in self.pages if isinstance(page, dict)
                if isinstance(agent := page.get("user_agent"), str) and USER_AGENT.fullmatch(agent)}


def read_manifest(fetchlog: Path, problems: list[str]) -> Manifest:
    """Read ``manifest.json``; recordings of 2013 have none. Adds to `problems` what is wrong with it.

    Raises InputError when it is of another format than this program's.
    """
    path = fetchlog / MANIFEST
    try:
        content = read_untrusted_json(path)
        if (version := content["format"]) != MANIFEST_FORMAT:
            raise InputError(f"{path}:1: format {version!r} is not this program's ({MANIFEST_FORMAT}); record it "
                             "again, or update the program")
        return msgspec.convert({**content, "content": content}, Manifest)
    except MissingFileError:
        return Manifest()
    except (UnreadableFileError, ValueError, TypeError, KeyError) as error:
        why = error if isinstance(error, UnreadableFileError) else f"{path}: not a manifest ({error!r})"
        problems.append(f"{why}; taken as recorded")
        return Manifest()


def bodies_of(pages: Iterable[PageExchanges]) -> dict[str, Body]:
    """Return the files that exchanges name: of a file that several name, as one of them tells its size."""
    named = [body for page in pages for exchange in page.exchanges if (body := exchange.answer.body) is not None]
    return {body.file: body for body in sorted(named, key=lambda body: body.bytes is not None)}


def damage(bodies: Mapping[str, Body], mirror: Path) -> str:
    """Return in words which of the recorded `bodies` are missing from the mirror or are others now, "" when none is."""
    found = {name: _damage_of(mirror, name, recorded) for name, recorded in bodies.items()}
    damaged = {what: [name for name in bodies if found[name] == what] for what in (GONE, CHANGED)}
    return "; ".join(f"{len(names)} of {len(bodies)} bodies of {mirror.name}/ {'is' if len(names) == 1 else 'are'} "
                     f"{what}, first {shortened(names[0])}" for what, names in damaged.items() if names)


def _damage_of(mirror: Path, name: str, recorded: Body) -> str:
    """Return what has become of a body; it is read only where its size cannot tell."""
    try:
        with os.fdopen(open_below(mirror, name), "rb") as file:
            same = (recorded.bytes in (None, os.fstat(file.fileno()).st_size)
                    and (not recorded.sha256 or _sha256(file) == recorded.sha256))
        return "" if same else CHANGED
    except OSError:
        return GONE


def body_in(mirror: Path, name: str) -> Body:
    """Return a file of a mirror, ``host/file``, with what it holds. Raises OSError for what is none, such as a link."""
    with os.fdopen(open_below(mirror, name), "rb") as file:
        sha256 = _sha256(file)
        return Body(name, file.tell(), sha256)


def _sha256(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()
