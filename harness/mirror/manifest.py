"""The manifest of a recording, ``NAME.fetchlog/manifest.json``: where it comes from, and which bodies it has."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.mirror.bodies import Body, list_bodies
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted_json

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
USER_AGENT = re.compile(r"[\x20-\x7e]{1,1000}")
"""What a browser may say that it is."""


@dataclass(frozen=True)
class Manifest:
    """Where a recording comes from: `source` is "synthetic", "recorded", or "made" (small.py).

    `http2_hosts` are hosts that speak HTTP/2: of synthetic pages, whose text logs do not say it. `user_agents` is what
    Chrome said that it is when it recorded a page, by the page's name. `bodies` are the files of its mirror; none are
    listed in manifests from before this was checked.
    """

    source: str = "recorded"
    seed: int | None = None
    note: str = ""
    http2_hosts: frozenset[str] = frozenset()
    user_agents: Mapping[str, str] = field(default_factory=dict)
    bodies: Mapping[str, Body] = field(default_factory=dict)

    @property
    def synthetic(self) -> bool:
        """Whether the pages were made by the project itself."""
        return self.source == "synthetic"


def write_manifest(fetchlog_dir: Path, mirror_dir: Path, source: str, **more: object) -> None:
    """Write the manifest of a complete recording: its `source`, what `more` there is to say, and all of its bodies."""
    bodies = {name: {"bytes": body.bytes, "sha256": body.sha256} for name, body in list_bodies(mirror_dir).items()}
    content = {"format": MANIFEST_FORMAT, "source": source, **more, "bodies": bodies}
    (fetchlog_dir / MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")


def keep_bodies(fetchlog_dir: Path, names: Collection[str]) -> None:
    """Leave all bodies but `names` out of the list: the others are not in this copy of the mirror."""
    content = read_untrusted_json(fetchlog_dir / MANIFEST)
    content["bodies"] = {name: body for name, body in content["bodies"].items() if name in names}
    (fetchlog_dir / MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")


def read_manifest(fetchlog_dir: Path, problems: list[str]) -> Manifest:
    """Read ``manifest.json``; recordings of 2013 have none. Adds to `problems` what is wrong with it.

    Raises InputError when its format is newer than this program.
    """
    path = fetchlog_dir / MANIFEST
    try:
        content = read_untrusted_json(path)
        version = content["format"]
        manifest = Manifest(str(content.get("source", "recorded")), content.get("seed"), str(content.get("note", "")),
                            frozenset(map(str, content.get("http2_hosts", ()))), _user_agents(content),
                            {name: Body(int(body["bytes"]), str(body["sha256"]))
                             for name, body in content.get("bodies", {}).items()})
    except MissingFileError:
        return Manifest()
    except UnreadableFileError as error:
        problems.append(f"{error}; taken as recorded")
        return Manifest()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        problems.append(f"{path}: not a manifest ({error!r}); taken as recorded")
        return Manifest()
    if not isinstance(version, int) or version > MANIFEST_FORMAT:
        raise InputError(f"{path}:1: format {version!r} is newer than this program; update it")
    return manifest


def _user_agents(content: dict[str, Any]) -> dict[str, str]:
    """Return them; those that fetch.py wrote, since manifests of synthetic pages list URLs alone."""
    said = {str(page["page"]): str(page.get("user_agent", "")) for page in content.get("pages", ())
            if isinstance(page, dict)}
    return {page: user_agent for page, user_agent in said.items() if USER_AGENT.fullmatch(user_agent)}
