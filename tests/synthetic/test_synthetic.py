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
from harness.synthetic.page_plan import Node, NodeKind
from harness.synthetic.shape import read_shapes
from tests.support.growth import LINEAR, growth
from tests.support.waiting import wait_until
from tests.support.written import lookup

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


def nodes_with_body(pages: list[SyntheticPage]) -> list[tuple[SyntheticPage, Node]]:
    return [(page, node) for page in pages for node in page.plan.nodes if not node.no_content]


def has_room(page: SyntheticPage, parent: Node | None) -> bool:
    """Whether the parent could hold the code for all that descends from it."""
    def code_length(node: Node) -> int:
        return sum(len(page.urls[child.index]) + 80 + code_length(child) for child in node.children)

    holding = (NodeKind.SCRIPT, NodeKind.FRAME, NodeKind.DOCUMENT)
    return parent is not None and parent.kind in holding and parent.size_bytes > code_length(parent) + 1500


def hash_of(directory: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        digest.update(str(path.relative_to(directory)).encode() + b"\0")
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def test_bodies_have_exactly_the_recorded_sizes(pages: list[SyntheticPage]) -> None:
    for page, node in nodes_with_body(pages):
        recorded = page.plan.resources[node.final].size_bytes
        most = 1.1 * recorded if node.kind is NodeKind.DOCUMENT else recorded       # too small to hold its tags, say
        assert recorded <= len(page.bodies[node.final]) <= most


@pytest.mark.parametrize(("mime", "sizes"), [("image/gif", [*range(35, 320), 5000, 300_000]),
                                             ("image/png", [*range(35, 400), 5001]),
                                             ("image/jpeg", [*range(35, 900, 7), 5002, 200_000])])
def test_an_image_of_any_size_can_be_made(mime: str, sizes: list[int]) -> None:
    for size in sizes:
        encoded = make_image(mime, size, random.Random(size))
        assert len(encoded) == size
        Image.open(io.BytesIO(encoded)).load()


def test_every_url_stands_in_one_resource_its_parent_or_its_parents_loader(pages: list[SyntheticPage]) -> None:
    for page in pages:
        texts = {node.final: unescape(page.bodies[node.final].decode("latin-1")) for _, node in nodes_with_body([page])
                 if node.kind not in (NodeKind.IMAGE, NodeKind.BEACON)}
        for node in page.plan.nodes[1:]:
            written = f'"{page.urls[node.index]}"'
            holders = [index for index, text in texts.items() if written in text]
            ancestors, at = [], node.parent
            while at is not None:
                ancestors.append(at.final)
                at = at.parent
            assert len(holders) == 1
            assert holders[0] in ancestors, (written, holders, ancestors)
            if has_room(page, node.parent):
                assert holders[0] == ancestors[0]


def test_documents_say_that_they_are_synthetic_and_ask_for_no_icon(pages: list[SyntheticPage]) -> None:
    for page in pages:
        document = page.bodies[page.plan.nodes[0].final].decode("ascii")
        assert "<h1>Synthetic page</h1>" in document
        assert f"stands in for {page.shape.url} as it was in March 2013" in document, page.shape.month
        assert '<link rel="icon" href="data:,">' in document


def test_a_replay_finds_every_answer(pages: list[SyntheticPage], paper: Path) -> None:
    recording = read_recording(paper / "Paper", paper / "Paper.fetchlog")
    assert recording.problems == []
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
                assert (paper / "Paper" / answer.file).read_bytes() == page.bodies[node.final]
                long = len(final[1]) + 1 > LONGEST_PLAIN
                assert not long or answer.file == f"{final[0]}/{md5_name('/' + final[1])}"


def test_the_log_has_the_times_of_the_load(pages: list[SyntheticPage], paper: Path) -> None:
    log = read_log(paper / "Paper.fetchlog" / "httpwww.amazon.com")
    assert log.problems == []
    resources = pages[0].shape.resources
    assert len(log.transactions) == len(log.responses) == len(resources)
    assert [row.end_ms for row in log.transactions] == sorted(row.end_ms for row in log.transactions)
    document = next(row for row in log.transactions if row.url == "http://www.amazon.com/")
    assert (document.start_ms, document.end_ms) == (resources[0].start_ms, resources[0].end_ms)
    ports = {"http": 80, "https": 443}
    assert {row.name for row in log.resolves} == {f"{found.host}:{ports[found.scheme]}" for found in resources}


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
