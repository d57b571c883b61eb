"""Links that the owner of the folder plants where root's http_tfo.py reads and writes: each leads to nothing new."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.support.recording import MadeRecording
from tests.support.replay_process import refusal

pytestmark = pytest.mark.root
NOBODY = 65534


LOGS = "--logdir", "logs"
PLANTED = [(("keys",), "", ("--authority", "keys/authority")), (("logs",), "", LOGS), (("logs/10-tfo-0",), "", LOGS),
           (("logs/10-tfo-0/a.test", "logs/10-tfo-1/a.test"), "file", LOGS), (("Web/a.test",), "", ()),
           (("Web.fetchlog",), "", ())]
"""Where links are planted, to what in root's folder, and the option that names a path in the owner's."""


@pytest.mark.parametrize(("links", "to", "option"), PLANTED)
def test_root_follows_no_link_of_the_folders_owner(open_to_all: Path, links: tuple[str, ...], to: str,
                                                   option: tuple[str, ...]) -> None:
    """The folder is nobody's, beside a folder of root's with a file in it."""
    folder, of_root = open_to_all / "theirs", open_to_all / "of_root"
    folder.mkdir()
    of_root.mkdir(mode=0o700)
    (of_root / "file").write_text('{"secret": "of root"}')
    (of_root / "file").chmod(0o600)
    recording = MadeRecording(folder)
    recording.add("https://a.test/", b"front", "text/html")
    recording.finish("https://a.test/")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    for link in links:
        (folder / link).parent.mkdir(parents=True, exist_ok=True)
        if (folder / link).exists():
            shutil.rmtree(folder / link)
        (folder / link).symlink_to(of_root / to)
    said = refusal(folder, "--user", f"{NOBODY}:{NOBODY}", *option[:1], *(folder / path for path in option[1:]))
    assert "secret" not in said
    assert [path.name for path in of_root.iterdir()] == ["file"]
    assert (of_root / "file").read_text() == '{"secret": "of root"}'
    for path, mode in ((of_root, 0o700), (of_root / "file", 0o600)):
        assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (0, mode)
