"""The manifest of a recording, ``NAME.fetchlog/manifest.json``: where it comes from, and what its HARs do not tell."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files.exchange import Body
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted_json

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 2
"""Of format 1, before 1.0.0, HARs do not have their bodies' sizes and hashes; `importing` brings it into this one."""
USER_AGENT = re.compile(r"[\x20-\x7e]{1,1000}")
"""What a browser may say that it is."""


@dataclass(frozen=True)
class Manifest:
    """Where a recording comes from: `source` is "synthetic", "recorded", or "made" (small.py).

    `user_agents` is what Chrome said that it is when it recorded a page, by the page's name. `bodies` are the files of
    its mirror that no exchange names, `content` is all that stands in the file.
    """

    source: str = "recorded"
    note: str = ""
    user_agents: Mapping[str, str] = field(default_factory=dict)
    bodies: Mapping[str, Body] = field(default_factory=dict)
    content: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def is_of_today(self) -> bool:
        """Whether it is there, in today's format."""
        return self.content.get("format") == MANIFEST_FORMAT

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
    if version not in range(1, MANIFEST_FORMAT + 1):
        raise InputError(f"{path}:1: format {version!r} is not this program's ({MANIFEST_FORMAT}); record it again, or "
                         "update the program")
    return manifest


def _user_agents(content: Mapping[str, Any]) -> dict[str, str]:
    """Return them; those that fetch.py wrote, since manifests of synthetic pages list URLs alone."""
    said = {str(page.get("page")): str(page.get("user_agent", "")) for page in content.get("pages", ())
            if isinstance(page, dict)}
    return {page: user_agent for page, user_agent in said.items() if USER_AGENT.fullmatch(user_agent)}
