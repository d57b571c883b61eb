"""The manifest of a recording, ``NAME.fetchlog/manifest.json``: where the recording comes from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted_json

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
USER_AGENT = re.compile(r"[\x20-\x7e]{1,1000}")
"""What a browser may say that it is."""


@dataclass(frozen=True)
class Manifest:
    """Where a recording comes from: `source` is "synthetic", "recorded", or "made" (small.py).

    `http2_hosts` are hosts that speak HTTP/2: of synthetic pages, whose text logs do not say it. `user_agents` is what
    Chrome said that it is when it recorded a page, by the page's name.
    """

    source: str = "recorded"
    seed: int | None = None
    note: str = ""
    http2_hosts: frozenset[str] = frozenset()
    user_agents: Mapping[str, str] = field(default_factory=dict)

    @property
    def synthetic(self) -> bool:
        """Whether the pages were made by the project itself."""
        return self.source == "synthetic"


def read_manifest(fetchlog_dir: Path, problems: list[str]) -> Manifest:
    """Read ``manifest.json``; recordings of 2013 have none. Adds to `problems` what is wrong with it.

    Raises InputError when its format is newer than this program.
    """
    path = fetchlog_dir / MANIFEST
    try:
        content = read_untrusted_json(path)
        version = content["format"]
        manifest = Manifest(str(content.get("source", "recorded")), content.get("seed"), str(content.get("note", "")),
                            frozenset(map(str, content.get("http2_hosts", ()))), _user_agents(content))
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
