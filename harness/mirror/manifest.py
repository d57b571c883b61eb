"""The manifest of a recording, ``NAME.fetchlog/manifest.json``: where the recording comes from."""

from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.system.untrusted import MissingFileError, UnreadableFileError, read_untrusted_json

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """Where a recording comes from: `source` is "synthetic", "recorded", or "made" (small.py).

    `http2_hosts` are hosts that speak HTTP/2: of synthetic pages, whose text logs do not say it.
    """

    source: str = "recorded"
    seed: int | None = None
    note: str = ""
    http2_hosts: frozenset[str] = frozenset()

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
                            frozenset(map(str, content.get("http2_hosts", ()))))
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
