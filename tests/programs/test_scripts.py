"""The programs of scripts/ that make pages or measure them, and root's way through a user's folders."""

import os
from functools import partial
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.text_log import PageLog, Response, Transaction, format_log
from harness.mirror.recording import read_recording
from harness.mirror.servers import read_rtts
from harness.synthetic.shape import read_shapes
from tests.support.forked import typed
from tests.support.ordinary import ORDINARY, SUDO
from tests.support.project_copy import LATE_PYTHON
from tests.support.ran import assert_refused, ran
from tests.support.recording import CHAIN, ICON, MadeRecording, chain_of_hosts

LACKS = "http://lacks.test/"


@pytest.mark.root
@pytest.mark.chrome
@pytest.mark.slow
def test_a_chain_keeps_its_causes_and_sizes_whatever_becomes_of_another_page(tmp_path: Path) -> None:
    """Most of what the other one asks for is not in its recording, which no second try mends."""
    mirror = MadeRecording(tmp_path, "small", har=False)
    mirror.add_chain(*CHAIN)
    mirror.add(LACKS, f"<!doctype html>{ICON}" + "".join(f"<img src={number}.png>" for number in range(5)))
    mirror.finish(CHAIN[0], LACKS)
    done = ran(*LATE_PYTHON, ROOT / "scripts" / "shape.py", "--name", "small", "--dir", tmp_path, status=1)
    assert f"{LACKS}: " in done.stderr
    shape, = read_shapes(tmp_path / "small.shape")
    assert shape.url == CHAIN[0]
    assert [resource.parent for resource in shape.resources] == [None, *range(len(shape.resources) - 1)], "a chain"
    assert len({resource.host for resource in shape.resources}) == len(shape.resources)
    assert all(resource.size_bytes for resource in shape.resources)


FIRST, SECOND = "http://www.nytimes.com/", "http://host1.test/"
TIMES = ((FIRST, 0, 80.25), (f"{FIRST}s.css", 100, 135.5), (f"{FIRST}cached", 140, 140), (SECOND, 150, 350),
         ("http://host2.test/", 350, 651), (f"{SECOND}failed", 150, 151), ("http://elsewhere.test/", 0, 3))


def test_the_shortest_answer_of_each_server(tmp_path: Path) -> None:
    chain_of_hosts(tmp_path, 3)
    [log] = [path for path in (tmp_path / "small.fetchlog").iterdir() if path.suffix != ".json"]
    responses = [Response("OK", "text/html", "", url, None) for url, *_ in TIMES if "failed" not in url
                 and "elsewhere" not in url]
    log.write_text(format_log(PageLog(transactions=[Transaction(start, end, url) for url, start, end in TIMES],
                                      responses=responses, transactions_seen=True)))
    done = typed(ROOT / "scripts" / "make_rtts.py", "--dir", tmp_path, "--name", "small", status=0)
    path = tmp_path / "small.rtts"
    assert done.stdout == f"{path}: 2 of 3 servers, 35.5 to 200 ms at most\n"
    assert {host: rtt_ms for host, (_, rtt_ms) in read_rtts(path).items()} == {"www.nytimes.com": 35.5,
                                                                              "host1.test": 200}
    assert "\n# host2.test 301.0\n" in path.read_text(), "no server is that far away"


SCRIPT = ROOT / "scripts" / "get-2013.sh"
URL_2013 = "http://www.a.test"


def commit(directory: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        ran("git", "-c", "user.name=a", "-c", "user.email=a@a.test", *words, status=0, cwd=directory)


def test_the_pages_of_2013_are_installed_once_and_whole_or_not_at_all(tmp_path: Path) -> None:
    """A repository without them leaves nothing, and no link comes out of one."""
    clone, here = tmp_path / "clone", tmp_path / "here"
    here.mkdir()
    made = MadeRecording(clone, "Paper", har=False)
    made.add(f"{URL_2013}/", "page")
    made.finish(URL_2013)
    (made.mirror / "www.a.test" / "secret").symlink_to("/etc/hostname")
    pages = (clone / "Paper.pages").rename(tmp_path / "pages")
    commit(clone)
    for source in (clone, tmp_path / "nothing"):
        assert_refused(ran(SCRIPT, "--dir", here, source), 1)
        assert list(here.iterdir()) == []

    pages.rename(clone / "Paper.pages")
    commit(clone)
    assert ran(SCRIPT, "--dir", here, clone, status=0).stdout.startswith(f"1 pages in {here}/Paper2013.pages; ")
    assert {path.name for path in here.iterdir()} == {"Paper2013", "Paper2013.fetchlog", "Paper2013.pages"}
    recording = read_recording(here / "Paper2013", here / "Paper2013.fetchlog")
    assert recording.document(URL_2013) == URL_2013
    assert not any(path.is_symlink() for path in here.rglob("*"))
    again = ran(SCRIPT, "--dir", here, clone)
    assert_refused(again)
    assert f"{here}/Paper2013: is there already" in again.stderr


@pytest.mark.root
def test_the_tiny_page_is_the_users_and_goes_through_no_link(open_to_all: Path) -> None:
    of_root, of_user = open_to_all / "of_root", open_to_all / "of_user"
    for folder in (of_root, of_user):
        folder.mkdir(mode=0o700)
    os.chown(of_user, ORDINARY.uid, ORDINARY.gid)
    tiny = partial(ran, ROOT / "scripts" / "make_pages.py", "--name", "tiny", env={**os.environ, **SUDO})
    assert tiny("--directory", of_user).returncode == 0
    assert {path.stat().st_uid for path in of_user.rglob("*")} == {ORDINARY.uid}
    (of_user / "in_root").symlink_to(of_root)
    assert_refused(tiny("--directory", of_user / "in_root"))
    assert list(of_root.iterdir()) == []
