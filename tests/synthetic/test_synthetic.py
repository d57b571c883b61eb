"""The synthetic pages as files: sizes, images, names, redirects, who refers to whom.

How Chrome loads them is tested in test_synthetic_chrome.
"""

import io
import random
import signal
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.pages import sanitise
from harness.files.text_log import read_log
from harness.files.urls import split_url
from harness.mirror.paths import LONGEST_PLAIN, md5_name
from harness.mirror.recording import read_recording
from harness.synthetic.build import SyntheticPage, make_page_set, make_pages
from harness.synthetic.padding import make_image, prose
from harness.synthetic.page_plan import NodeKind
from harness.synthetic.shape import read_shapes
from tests.support.growth import assert_linear
from tests.support.recording import lookup
from tests.support.waiting import wait_until

PAGES = ["http://en.wikipedia.org/wiki/Transmission_Control_Protocol", "http://www.amazon.com"]
LIST = f"{PAGES[0]}\n"


@pytest.fixture(scope="module")
def pages() -> list[SyntheticPage]:
    return make_page_set(read_shapes(), seed=1)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("paper")
    (directory / "Paper.pages").write_text("\n".join(PAGES), encoding="ascii")
    make_pages(directory, "Paper", seed=1)
    return directory


@pytest.mark.parametrize(("mime", "sizes"), [("image/gif", [*range(35, 320), 5000, 90_000]),
                                             ("image/png", [*range(35, 400), 5001]),
                                             ("image/jpeg", [*range(35, 900, 7), 5002, 90_000])])
def test_an_image_of_any_size_can_be_made(mime: str, sizes: list[int]) -> None:
    for size in sizes:
        encoded = make_image(mime, size, random.Random(size))
        assert len(encoded) == size
        Image.open(io.BytesIO(encoded)).load()


def test_documents_say_what_they_are_and_every_url_stands_in_one_resource_above_it(pages: list[SyntheticPage]) -> None:
    for page in pages:
        texts = {node.final: unescape(page.bodies[node.final].decode("latin-1")) for node in page.plan.nodes
                 if not node.no_content and node.kind not in (NodeKind.IMAGE, NodeKind.BEACON)}
        assert f"stands in for {page.shape.url} as it was in March 2013" in texts[page.plan.nodes[0].final]
        for node in page.plan.nodes[1:]:
            above, at = [], node.parent
            while at is not None:
                above.append(at.final)
                at = at.parent
            [holder] = [index for index, text in texts.items() if f'"{page.urls[node.index]}"' in text]
            assert holder in above, page.urls[node.index]


def test_a_replay_finds_every_answer(pages: list[SyntheticPage], paper: Path) -> None:
    recording = read_recording(paper / "Paper", paper / "Paper.fetchlog")
    assert (recording.problems, recording.manifest.synthetic, recording.manifest.content["seed"]) == ([], True, 1)
    for page in (page for page in pages if page.shape.url in PAGES):
        log = read_log(paper / "Paper.fetchlog" / sanitise(page.shape.url))
        assert log.problems == []
        assert {(row.url, row.start_ms, row.end_ms) for row in log.transactions} == {
            (url, resource.start_ms, resource.end_ms)
            for url, resource in zip(page.urls, page.shape.resources, strict=True)}
        document = page.urls[page.plan.nodes[0].final]
        assert recording.document(page.shape.url) in (document, document.rstrip("/"))
        for node in page.plan.nodes:
            answers = [answer for url in (page.urls[index] for index in node.hops)
                       if (answer := lookup(recording, *split_url(url), url.partition(":")[0]))]
            assert [(answer.status, answer.redirect_url) for answer in answers] == [
                *((302, page.urls[target]) for target in node.hops[1:]), (204 if node.no_content else 200, "")]
            if not node.no_content:
                body, size = page.bodies[node.final], page.plan.resources[node.final].size_bytes
                host, target = split_url(page.urls[node.final])
                file = answers[-1].file or ""
                assert (paper / "Paper" / file).read_bytes() == body
                assert size <= len(body) <= (size if node.index else 1.1 * size), "too small for its tags, say"
                assert len(target) <= LONGEST_PLAIN or file == f"{host}/{md5_name(target)}"


def test_complete_pages_are_left_and_others_made_again(tmp_path: Path) -> None:
    (tmp_path / "Wiki.pages").write_text(LIST)
    document = tmp_path / "Wiki" / "en.wikipedia.org" / "wiki" / "Transmission_Control_Protocol"
    assert "made" in make_pages(tmp_path, "Wiki", seed=1)
    first = document.read_bytes()
    assert "nothing to do" in make_pages(tmp_path, "Wiki", seed=1)
    for spoil in (document.unlink, lambda: document.write_bytes(first[:-1] + b"x")):
        spoil()
        assert "made" in make_pages(tmp_path, "Wiki", seed=1)
        assert document.read_bytes() == first
    assert "made" in make_pages(tmp_path, "Wiki", seed=2)
    assert document.read_bytes() != first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Wiki", "Wiki.fetchlog", "Wiki.pages"]


def test_an_interrupted_making_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "Paper.pages").write_bytes((ROOT / "Paper.pages").read_bytes())
    command = [sys.executable, str(ROOT / "scripts" / "make_pages.py"), "--directory", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as making:
        wait_until(lambda: any(path.name.startswith(".Paper.recording-") for path in tmp_path.iterdir()))
        making.send_signal(signal.SIGTERM)
        assert making.wait() == -signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["Paper.pages"]


def test_a_recording_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "Paper.pages").write_text(LIST)
    (tmp_path / "Paper" / "www.amazon.com").mkdir(parents=True)
    with pytest.raises(InputError):
        make_pages(tmp_path, "Paper", seed=1)
    (tmp_path / "Paper.fetchlog").mkdir()
    assert "recording" in make_pages(tmp_path, "Paper", seed=1)
    assert list((tmp_path / "Paper").rglob("*")) == [tmp_path / "Paper" / "www.amazon.com"]


def test_a_long_text_takes_time_in_proportion() -> None:
    """A video of 20 MB is prose: by += it took more than ten minutes."""
    assert_linear(lambda size: prose(random.Random(1), size), 500_000)
