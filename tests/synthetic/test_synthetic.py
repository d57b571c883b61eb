"""The synthetic pages as files: sizes, images, names, redirects, who refers to whom.

How Chrome loads them is tested in test_synthetic_chrome.
"""

import hashlib
import io
import os
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
from harness.files.text_log import read_log
from harness.mirror.paths import LONGEST_PLAIN, md5_name
from harness.mirror.recording import read_recording
from harness.synthetic.build import SyntheticPage, make_page_set, make_pages
from harness.synthetic.padding import make_image, prose
from harness.synthetic.page_plan import NodeKind
from harness.synthetic.shape import read_shapes
from tests.support.growth import LINEAR, growth
from tests.support.recording import lookup
from tests.support.waiting import wait_until

PAPER = (ROOT / "Paper.pages").read_text(encoding="ascii")


@pytest.fixture(scope="module")
def pages() -> list[SyntheticPage]:
    return make_page_set(read_shapes(), seed=1)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("paper")
    (directory / "Paper.pages").write_text(PAPER, encoding="ascii")
    make_pages(directory, "Paper", seed=1)
    return directory


def hash_of(directory: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        digest.update(str(path.relative_to(directory)).encode() + b"\0")
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


@pytest.mark.parametrize(("mime", "sizes"), [("image/gif", [*range(35, 320), 5000, 300_000]),
                                             ("image/png", [*range(35, 400), 5001]),
                                             ("image/jpeg", [*range(35, 900, 7), 5002, 200_000])])
def test_an_image_of_any_size_can_be_made(mime: str, sizes: list[int]) -> None:
    for size in sizes:
        encoded = make_image(mime, size, random.Random(size))
        assert len(encoded) == size
        Image.open(io.BytesIO(encoded)).load()


def test_documents_say_what_they_are_and_every_url_stands_in_one_resource_above_it(pages: list[SyntheticPage]) -> None:
    for page in pages:
        texts = {node.final: unescape(page.bodies[node.final].decode("latin-1")) for node in page.plan.nodes
                 if not node.no_content and node.kind not in (NodeKind.IMAGE, NodeKind.BEACON)}
        for said in ("<h1>Synthetic page</h1>", f"stands in for {page.shape.url} as it was in March 2013",
                     '<link rel="icon" href="data:,">'):
            assert said in texts[page.plan.nodes[0].final]
        for node in page.plan.nodes[1:]:
            written = f'"{page.urls[node.index]}"'
            above, at = [], node.parent
            while at is not None:
                above.append(at.final)
                at = at.parent
            [holder] = [index for index, text in texts.items() if written in text]
            assert holder in above, (written, holder, above)


def test_a_replay_finds_every_answer(pages: list[SyntheticPage], paper: Path) -> None:
    recording = read_recording(paper / "Paper", paper / "Paper.fetchlog")
    assert recording.problems == []
    log = read_log(paper / "Paper.fetchlog" / "httpwww.amazon.com")
    assert log.problems == []
    wanted = {(url, resource.start_ms, resource.end_ms)
              for url, resource in zip(pages[0].urls, pages[0].shape.resources, strict=True)}
    assert {(row.url, row.start_ms, row.end_ms) for row in log.transactions} == wanted
    assert recording.manifest.synthetic
    assert recording.manifest.content["seed"] == 1
    for page in pages:
        document = page.urls[page.plan.nodes[0].final]
        assert recording.document(page.shape.url) in (document, document.rstrip("/"))
        for node in page.plan.nodes:
            *hops, final = [page.urls[index].partition("://")[2].split("/", 1) for index in node.hops]
            schemes = [page.urls[index].partition("://")[0] for index in node.hops]
            for (host, path), scheme, target in zip(hops, schemes[:-1], node.hops[1:], strict=True):
                answer = lookup(recording, host, "/" + path, scheme)
                assert answer is not None
                assert (answer.status, answer.redirect_url) == (302, page.urls[target])
            answer = lookup(recording, final[0], "/" + final[1], schemes[-1])
            assert answer is not None
            assert answer.status == (204 if node.no_content else 200)
            if not node.no_content:
                assert answer.file is not None
                body, size = page.bodies[node.final], page.plan.resources[node.final].size_bytes
                assert (paper / "Paper" / answer.file).read_bytes() == body
                assert size <= len(body) <= (size if node.index else 1.1 * size), "too small for its tags, say"
                long = len(final[1]) + 1 > LONGEST_PLAIN
                assert not long or answer.file == f"{final[0]}/{md5_name('/' + final[1])}"


def test_the_same_seed_gives_the_same_bytes_in_another_process(paper: Path, tmp_path: Path) -> None:
    (tmp_path / "Paper.pages").write_text(PAPER, encoding="ascii")
    script = ROOT / "scripts" / "make_pages.py"
    subprocess.run([sys.executable, str(script), "--directory", str(tmp_path), "--seed", "1"], check=True,
                   env={**os.environ, "PYTHONHASHSEED": "1"}, stdout=subprocess.DEVNULL)
    assert hash_of(tmp_path) == hash_of(paper)


def test_complete_pages_are_left_and_others_made_again(tmp_path: Path) -> None:
    (tmp_path / "Wiki.pages").write_text(PAPER.splitlines()[-1], encoding="ascii")
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


def test_the_same_pages_over_tls(paper: Path, tmp_path: Path) -> None:
    assert "made: 4" in make_pages(tmp_path, "Secure", seed=1, https=True)
    assert (tmp_path / "Secure.pages").read_text() == PAPER.replace("http:", "https:")
    plain = read_recording(paper / "Paper", paper / "Paper.fetchlog")
    secure = read_recording(tmp_path / "Secure", tmp_path / "Secure.fetchlog")
    assert {scheme for host in secure.hosts() for scheme in secure.schemes(host)} == {"https"}
    assert plain.hosts() == secure.hosts()
    bodies = [path.read_bytes() for path in sorted((tmp_path / "Secure").rglob("*")) if path.is_file()]
    assert not any(b"http://" in body for body in bodies)


def test_an_interrupted_making_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "Paper.pages").write_text(PAPER, encoding="ascii")
    command = [sys.executable, str(ROOT / "scripts" / "make_pages.py"), "--directory", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as making:
        wait_until(lambda: any(path.name.startswith(".Paper.recording-") for path in tmp_path.iterdir()))
        making.send_signal(signal.SIGTERM)
        assert making.wait() == -signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["Paper.pages"]


def test_a_recording_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "Paper.pages").write_text(PAPER, encoding="ascii")
    (tmp_path / "Paper" / "www.amazon.com").mkdir(parents=True)
    with pytest.raises(InputError):
        make_pages(tmp_path, "Paper", seed=1)
    (tmp_path / "Paper.fetchlog").mkdir()
    assert "recording" in make_pages(tmp_path, "Paper", seed=1)
    assert list((tmp_path / "Paper").rglob("*")) == [tmp_path / "Paper" / "www.amazon.com"]


def test_a_long_text_takes_time_in_proportion() -> None:
    """A video of 20 MB is prose: by += it took more than ten minutes."""
    assert len(prose(random.Random(1), 2_000)) == 2_000
    assert growth(lambda size: prose(random.Random(1), size), 500_000) < LINEAR
