"""scripts/shape.py measures a recording, and what make_pages.py makes of it has the same requests."""

from collections import Counter
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.synthetic.build import make_page_set
from harness.synthetic.shape import read_shapes
from tests.support.explained_pages import CHAIN, MAKERS
from tests.support.project_copy import LATE_PYTHON
from tests.support.ran import assert_refused, ran
from tests.support.small_mirror import ICON, SmallMirror, one_document

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]
SHAPE = (*LATE_PYTHON, ROOT / "scripts" / "shape.py", "--name", "small")
LACKS = "http://lacks.test/"


def test_a_chain_keeps_its_causes_and_sizes_whatever_becomes_of_another_page(tmp_path: Path) -> None:
    """Most of what the other one asks for is not in its recording, which no second try mends."""
    mirror = SmallMirror(tmp_path)
    MAKERS[CHAIN](mirror)
    mirror.add(LACKS, f"<!doctype html>{ICON}" + "".join(f"<img src={number}.png>" for number in range(5)))
    mirror.finish(CHAIN, LACKS)
    done = ran(*SHAPE, "--dir", tmp_path, status=1)
    assert f"{LACKS}: no load of it can be used: " in done.stderr
    shape, = read_shapes(tmp_path / "small.shape")
    assert shape.url == CHAIN
    assert [resource.parent for resource in shape.resources] == [None, *range(len(shape.resources) - 1)], "a chain"
    assert len({resource.host for resource in shape.resources}) == len(shape.resources)
    assert all(resource.size_bytes for resource in shape.resources)
    page, = make_page_set([shape], seed=1)
    assert Counter(url.split("/")[2] for url in page.urls) == Counter(resource.host for resource in shape.resources)


@pytest.mark.parametrize("output", ["nowhere/x.shape", "."])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(output: str, tmp_path: Path) -> None:
    """It was a traceback after all loads, and what they had found was lost."""
    one_document(tmp_path)
    done = ran(*SHAPE, "--dir", tmp_path, "--output", tmp_path / output)
    assert_refused(done)
    assert "PLT" not in done.stdout
