"""fetch.py when something goes wrong: pages, input, the disk, a signal. What was recorded before is kept."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness.mirror.recording import read_recording
from harness.system.privileges import give
from harness.system.processes import descendants, is_running
from tests.support.internet import site
from tests.support.internet.recorded import NAME, command, fetch, tree
from tests.support.internet.server import NEEDS_NGINX, Internet
from tests.support.internet.site import CDN
from tests.support.ordinary import ORDINARY, SUDO
from tests.support.ran import ran
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.chrome, pytest.mark.slow, NEEDS_NGINX]
GOOD = site.SECURE


def keep_old(directory: Path) -> None:
    """Put an older recording there."""
    (directory / NAME).mkdir()
    (directory / NAME / "kept").write_text("old")


@pytest.mark.root
def test_pages_that_fail_do_not_lose_the_others_and_none_of_roots_rights_are_kept(
        internet: Internet, open_to_all: Path) -> None:
    keep_old(open_to_all)
    (open_to_all / f"{NAME}.pages").write_text("\n".join([*site.FAILING, GOOD]))
    give(open_to_all, ORDINARY)
    done = ran(*command(internet, open_to_all, "--quiet-limit", "1"), status=1, env={**os.environ, **SUDO})
    assert all(url in done.stderr for url in site.FAILING)
    assert GOOD not in done.stderr
    for why in ("ERR_CERT_", "401 Unauthorized", "404 Not Found", "a file to download"):
        assert why in done.stdout
    mirror, fetchlog = open_to_all / NAME, open_to_all / f"{NAME}.fetchlog"
    assert (mirror / CDN / "secure").read_bytes().startswith(b"<title>safe")
    assert (mirror / CDN / "twice.png").read_bytes() == internet.hosts[CDN].files["/twice.png"].body
    assert tree(open_to_all / f"{NAME}.previous") == {"kept": b"old"}
    assert not [*open_to_all.glob(".*")]
    assert {path.lstat().st_uid for new in (mirror, fetchlog) for path in new.rglob("*")} == {ORDINARY.uid}
    assert read_recording(mirror, fetchlog).document(GOOD) == GOOD.replace("http:", "https:")


def test_pages_that_never_rest_end_and_change_nothing(internet: Internet, tmp_path: Path) -> None:
    keep_old(tmp_path)
    done = fetch(internet, tmp_path, [site.STUCK, site.ALERTS, site.AGAIN], "--timeout", "6", "--quiet-limit", "1",
                 status=1)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    for line, why in zip(lines, ("Chrome did not answer for 20 s", "no load event before 6 s", "loading itself anew"),
                         strict=True):
        assert why in line
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, f"{NAME}.pages"]
    assert tree(tmp_path / NAME) == {"kept": b"old"}


def test_interrupted_it_leaves_the_old_recording_and_nothing_else(internet: Internet, tmp_path: Path) -> None:
    """As a terminal does; Chrome is in a session of its own. Other signals: tests/system/test_signals.py."""
    keep_old(tmp_path)
    (tmp_path / f"{NAME}.pages").write_text(site.NEVER_LOADS)
    asked = len(internet.requests())
    process = subprocess.Popen(command(internet, tmp_path, "--timeout", "600"), text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    wait_until(lambda: len(internet.requests()) > asked)
    running = descendants(process.pid)
    assert any("chrom" in Path(f"/proc/{pid}/comm").read_text() for pid in running if Path(f"/proc/{pid}").exists())
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGINT
    assert "everything is cleaned up" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, f"{NAME}.pages"]
    assert tree(tmp_path / NAME) == {"kept": b"old"}
    assert not [pid for pid in running if is_running(pid)]
