"""The manifest of a recording, ``NAME.fetchlog/manifest.json``: where it comes from, and what its HARs do not tell; and
whether its bodies are all there, and as they were recorded: exchanges name their files, sizes and hashes.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import InputError, shortened
from harness.files.exchange import Body
from harness.mirror.exchanges import PageExchanges
from harness.mirror.paths import list_files, open_file
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted_json

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 2
USER_AGENT = re.compile(r"[\x20-\x7e]{1,1000}")
"""What a browser may say that it is."""
CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class Manifest:
    """Where a recording comes from: `source` is "synthetic", "recorded", or "made" (by a program).

    `user_agents` is what Chrome said that it is when it recorded a page, by the page's name. `bodies` are the files of
    its mirror that no exchange names, `content` is all that stands in the file.
    """

    source: str = "recorded"
    note: str = ""
    user_agents: Mapping[str, str] = field(default_factory=dict)
    bodies: Mapping[str, Body] = field(default_factory=dict)
    content: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def synthetic(self) -> bool:
        """Whether the pages were made by the project itself."""
        return self.source == "synthetic"


def written_manifest(source: str, more: Mapping[str, object], unnamed: Iterable[Body]) -> str:
    """Return what the file of a complete recording holds; `unnamed` are the bodies that no exchange names."""
    bodies = {body.file: {"bytes": body.bytes, "sha256": body.sha256} for body in unnamed}
    return json.dumps({**more, "format": MANIFEST_FORMAT, "source": source, "bodies": bodies}, indent=1) + "\n"


def keep_bodies(fetchlog: Path, names: Collection[str]) -> None:
    """Leave all bodies but `names` out of the list: the others are not in this copy of the mirror."""
    content = read_untrusted_json(fetchlog / MANIFEST)
    content["bodies"] = {name: body for name, body in content["bodies"].items() if name in names}
    (fetchlog / MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")


def read_manifest(fetchlog: Path, problems: list[str]) -> Manifest:
    """Read ``manifest.json``; recordings of 2013 have none. Adds to `problems` what is wrong with it.

    Raises InputError when it is of another format than this program's.
    """
    path = fetchlog / MANIFEST
    try:
        content = read_untrusted_json(path)
        version, bodies = content["format"], {
            str(name): Body(str(name), int(body["bytes"]), str(body["sha256"]))
            for name, body in content.get("bodies", {}).items()}
        manifest = Manifest(str(content.get("source", "recorded")), str(content.get("note", "")),
                            _user_agents(content), bodies, content)
    except MissingFileError:
        return Manifest()
    except (UnreadableFileError, ValueError, TypeError, KeyError, AttributeError) as error:
        why = error if isinstance(error, UnreadableFileError) else f"{path}: not a manifest ({error!r})"
        problems.append(f"{why}; taken as recorded")
        return Manifest()
    if version != MANIFEST_FORMAT:
        raise InputError(f"{path}:1: format {version!r} is not this program's ({MANIFEST_FORMAT}); record it again, or "
                         "update the program")
    return manifest


def _user_agents(content: Mapping[str, Any]) -> dict[str, str]:
    """Return them; those that fetch.py wrote, since manifests of synthetic pages list URLs alone."""
    said = {str(page.get("page")): str(page.get("user_agent", "")) for page in content.get("pages", ())
            if isinstance(page, dict)}
    return {page: user_agent for page, user_agent in said.items() if USER_AGENT.fullmatch(user_agent)}


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
