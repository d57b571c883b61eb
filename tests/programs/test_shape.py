"""scripts/shape.py measures a recording, and what make_pages.py makes of it has the same requests."""

from collections import Counter
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.synthetic.build import make_page_set
from harness.synthetic.shape import read_shapes
from tests.support.explained_pages import CHAIN, make_pages
from tests.support.project_copy import ANY_TIME
from tests.support.ran import ran
from tests.support.small_mirror import ICON, SmallMirror, one_document

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]
SHAPE = ROOT / "scripts" / "shape.py"


def test_a_chain_of_hosts_keeps_its_causes_and_sizes(tmp_path: Path) -> None:
    make_pages(tmp_path, CHAIN)
    ran(*ANY_TIME, SHAPE, "--dir", tmp_path, "--name", "small", status=0)
    shape, = read_shapes(tmp_path / "small.shape")
    assert shape.url == CHAIN
    assert [resource.parent for resource in shape.resources] == [None, *range(len(shape.resources) - 1)], "a chain"
    assert len({resource.host for resource in shape.resources}) == len(shape.resources)
    assert all(resource.size_bytes for resource in shape.resources)
    page, = make_page_set([shape], seed=1)
    assert Counter(url.split("/")[2] for url in page.urls) == Counter(resource.host for resource in shape.resources)


def test_a_page_that_cannot_be_used_does_not_cost_the_others(tmp_path: Path) -> None:
    """Most of its requests are not in its recording, which no second try mends."""
    lacks = "http://lacks.test/"
    mirror = SmallMirror(tmp_path)
    mirror.add("http://one.test/", f"<!doctype html><title>one</title>{ICON}<p>One.")
    mirror.add(lacks, f"<!doctype html>{ICON}" + "".join(f"<img src={number}.png>" for number in range(5)))
    mirror.finish("http://one.test/", lacks)
    done = ran(*ANY_TIME, SHAPE, "--dir", tmp_path, "--name", "small", status=1)
    assert f"{lacks}: no load of it can be used: " in done.stderr
    assert [shape.url for shape in read_shapes(tmp_path / "small.shape")] == ["http://one.test/"]


@pytest.mark.parametrize("output", ["nowhere/x.shape", "."])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(output: str, tmp_path: Path) -> None:
    """It was a traceback after all loads, and what they had found was lost."""
    one_document(tmp_path)
    done = ran(*ANY_TIME, SHAPE, "--dir", tmp_path, "--name", "small", "--output", tmp_path / output)
    assert (done.returncode, "PLT" in done.stdout, len(done.stderr.splitlines())) == (2, False, 1), done.stderr
    assert "give another --output" in done.stderr
