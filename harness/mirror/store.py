"""A mirror and its logs while they are recorded: hidden beside their place, and put there when they are complete.

    .NAME.recording-1a2b3c4d/    lock             held while the recorder lives (harness.system.scratch)
                                 mirror fetchlog  what is recorded
                                 old-mirror old-fetchlog     what was in their place, for the moment of the exchange

What a recorder that was killed has left is removed by the next one in the same directory; should it have been killed in
the middle of the exchange, that is finished or taken back.
"""

import os
import re
import shutil
import signal
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from harness.errors import ExperimentError, InputError
from harness.files.exchange import Body
from harness.files.pages import PageFiles
from harness.files.urls import split_url, without_fragment
from harness.mirror.importing import complete
from harness.mirror.manifest import MANIFEST, body_in, read_manifest
from harness.mirror.paths import md5_name, mirror_file, write_file
from harness.mirror.recording import read_whole
from harness.system.atomic import move
from harness.system.scratch import left_behind, locked, remove
from harness.system.signals import ENDING_SIGNALS

HIDDEN = re.compile(r"\.(.+)\.recording-[0-9a-f]{8}", re.ASCII)
NEXT_NOTE = "; "
"""Between the notes of a manifest, one for each time that something was recorded."""


class Store:
    """Where one recording goes: `mirror` and `fetchlog` are the hidden directories, `pages` the manifest's list."""

    def __init__(self, files: PageFiles, hidden: Path) -> None:
        """Take the directories that are made (`new_store`)."""
        self._files, self._hidden = files, hidden
        self.mirror, self.fetchlog = _new(hidden)
        self.pages: list[dict[str, Any]] = []
        self._notes: list[str] = []

    def continue_from_existing(self) -> None:
        """Copy the recording that is there, to add to it.

        Raises InputError when it was not made by fetch.py, when its bodies are not all there, or when it has a link in
        it: what is added would be written to where that leads.
        """
        files = self._files
        manifest = read_manifest(files.fetchlog, [])
        pages = manifest.content.get("pages")
        if manifest.source != "recorded" or not isinstance(pages, list):
            raise InputError(f"{files.fetchlog / MANIFEST}:1: not a recording that can be added to; record without "
                             "--append")
        self.pages, self._notes = pages, manifest.note.split(NEXT_NOTE)
        try:
            for existing, copy in ((files.mirror, self.mirror), (files.fetchlog, self.fetchlog)):
                shutil.copytree(existing, copy, ignore=_refuse_links, dirs_exist_ok=True)
        except shutil.Error as error:           # one tuple a file: from, to, why
            file, _, why = error.args[0][0]
            raise ExperimentError(f"{file}: cannot be copied ({why}); make room, or give another --dir") from None
        read_whole(files)

    def put(self, url: str, method: str, body: bytes) -> Body:
        """Keep the body of an answer and return its file.

        A mirror has one place for a URL, whatever the method and for http and https alike. The first body put there
        stays (so of several put the best first); another one goes under the MD5 of method, URL and body, where only
        the HAR's `_file` leads (harness.record.page). Raises ValueError when the URL's host cannot be a directory.
        """
        url = without_fragment(url)
        host, target = split_url(url)
        for name in (mirror_file(target), md5_name(target)):
            file = self.mirror / host / name
            if file.is_file():
                if file.read_bytes() == body:
                    return body_in(self.mirror, f"{host}/{name}")
                url = f"{url.partition('//')[0]}//{host}/{md5_name(f'/{method} {url} {md5_name(body.hex())}')}"
                break
        return body_in(self.mirror, write_file(self.mirror, url, body).relative_to(self.mirror).as_posix())

    def write_manifest(self, note: str = "") -> None:
        """Write the manifest; `note` is about what was recorded now, and stands behind those of what was there."""
        notes = NEXT_NOTE.join(dict.fromkeys(filter(None, (*self._notes, note))))
        complete(self.fetchlog, self.mirror, "recorded", {"pages": self.pages, "note": notes})

    def publish(self, *, keep: bool = False) -> str:
        """Put the directories in their place, in one step as far as signals can tell.

        What was there is removed; with `keep` it is moved to a name that nothing has (NAME.previous, NAME.previous-2),
        which is returned; "" where nothing was kept. Raises OSError when that is not possible, and nothing has changed
        then.
        """
        previous = (PageFiles(self._files.base, f"{self._files.name}.previous{'' if number == 1 else f'-{number}'}")
                    for number in count(1))
        free = next(each for each in previous if not any(map(os.path.lexists, _ends(each))))
        aside = [places for places in zip(_ends(self._files), _old(self._hidden), _ends(free), strict=True)
                 if places[0].exists()]
        kept = [(old, to) for _, old, to in aside if keep]
        with _signals_held():
            _rename_all([*((end, old) for end, old, _ in aside),
                         *zip(_new(self._hidden), _ends(self._files), strict=True), *kept])
        return free.name if kept else ""


@contextmanager
def new_store(files: PageFiles) -> Iterator[Store]:
    """Give the store of a recording that is begun anew; remove what killed recorders left in its folder.

    At the end whatever is hidden is removed: all of it unless it was published. What was moved aside in vain comes
    back. Raises InputError when nothing may be made there.
    """
    sweep(files.base)
    hidden = files.base / f".{files.name}.recording-{uuid.uuid4().hex[:8]}"
    with ExitStack() as lock:
        try:
            try:
                hidden.mkdir()
                lock.enter_context(locked(hidden))
                for directory in _new(hidden):
                    directory.mkdir()
            except OSError as error:
                why = f"cannot be made ({error.strerror}); give a --dir of yours"
                raise InputError(f"{error.filename}: {why}") from None
            yield Store(files, hidden)
        finally:
            _put_back(hidden, files)
            remove(hidden)


def remove_recording(files: PageFiles) -> None:
    """Remove mirror and logs of a recording; of a link only the link."""
    for end in _ends(files):
        if end.is_symlink():
            end.unlink()
        else:
            shutil.rmtree(end, ignore_errors=True)


def sweep(directory: Path) -> None:
    """Remove what recorders left in `directory` that were killed; nobody else's folders, and none that is in use."""
    for hidden in left_behind(directory, ".*.recording-*"):
        named = HIDDEN.fullmatch(hidden.name)
        if named:
            _put_back(hidden, PageFiles(directory, named[1]))
            remove(hidden)


def _ends(files: PageFiles) -> tuple[Path, Path]:
    return files.mirror, files.fetchlog


def _new(hidden: Path) -> tuple[Path, Path]:
    return hidden / "mirror", hidden / "fetchlog"


def _old(hidden: Path) -> tuple[Path, Path]:
    return hidden / "old-mirror", hidden / "old-fetchlog"


def _refuse_links(directory: str, names: list[str]) -> list[str]:
    """Leave out nothing of a folder that is copied. Raises InputError for a link in it."""
    for link in filter(Path.is_symlink, (Path(directory, name) for name in names)):
        raise InputError(f"{link}: is a symbolic link, and none is followed there; put what it leads to in its place, "
                         "or record without --append")
    return []


def _put_back(hidden: Path, files: PageFiles) -> None:
    """Leave the recording of one time in its place: what was moved aside comes back unless its successor is there.

    When the new mirror is there already (it is moved first) and the logs, complete as well, are not, they follow.
    """
    mirror, fetchlog = _new(hidden)
    if fetchlog.exists() and not mirror.exists() and files.mirror.exists() and not files.fetchlog.exists():
        fetchlog.rename(files.fetchlog)
    for end, old in zip(_ends(files), _old(hidden), strict=True):
        if old.exists() and not end.exists():
            move(old, end)


def _rename_all(pairs: list[tuple[Path, Path]]) -> None:
    """Move each to the other of its pair; all of them, or none when one cannot be: then raises OSError."""
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in pairs:
            move(source, target)
            done.append((source, target))
    except OSError:
        for source, target in reversed(done):
            move(target, source)
        raise


@contextmanager
def _signals_held() -> Iterator[None]:
    """Have signals that end us wait until this is over: some ms."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
