"""JSONP: a stand-in calls the function that its page waits for, not the one of the load that was recorded."""

import gzip
import os
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest

from harness.mirror.asked import Asked
from harness.mirror.callbacks import new_names, renamed
from harness.replay.match import Request
from harness.replay.reply import reply_to
from harness.replay.site import Site
from tests.support.written import HOST, Written

OLD, NEW = "jQuery17_1363348800000", "jQuery17_1785000000000"
SCRIPT = f'{OLD}({{"text": "{OLD} is not renamed here"}});'
JSONP = [("Content-Type", "application/javascript")]


def answered(written: Written, target: str) -> tuple[bytes, str]:
    """Return the body that a GET gets, and how it was found."""
    site = Site(written.read(), HOST, "https")
    directory = os.open(written.directory / "Web" / HOST, os.O_PATH)
    try:
        with reply_to(site, {HOST: directory}, Request("GET", target, Asked({"accept": "*/*"}))) as reply:
            assert reply.size is not None
            body = reply.read(reply.size + 1)
            assert len(body) == reply.size
            return body, reply.found
    finally:
        os.close(directory)


def test_a_stand_in_calls_the_function_that_is_asked_for(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.add(f"/data?callback={OLD}&q=1", SCRIPT, headers=JSONP)
    body, found = answered(written, f"/data?callback={NEW}&q=1")
    assert found == "masked"
    assert body.decode() == SCRIPT.replace(f"{OLD}(", f"{NEW}(")


def test_an_exact_answer_stays_as_it_is(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.add(f"/data?callback={OLD}&q=1", SCRIPT, headers=JSONP)
    assert answered(written, f"/data?callback={OLD}&q=1") == (SCRIPT.encode(), "plain")


@pytest.mark.parametrize("before", ["", "/**/ ", ";", f"/* 1 */typeof {OLD} === 'function' && "])
def test_ways_to_begin_a_call(before: str) -> None:
    names = new_names(f"/?x=1&cb={OLD}", f"/?x=1&cb={NEW}")
    assert renamed(f"{before}{OLD}(1)".encode(), "", names) == f"{before.replace(OLD, NEW)}{NEW}(1)".encode()


@pytest.mark.parametrize("body", [f"x = {OLD}(1)", f"{OLD}7(1)", f"{OLD} = 1", "", '{"a": 1}'])
def test_what_is_no_such_call_stays(body: str) -> None:
    assert renamed(body.encode(), "", [(OLD.encode(), NEW.encode())]) is None


def test_a_value_that_is_no_name_is_not_put_into_a_script() -> None:
    assert new_names(f"/?cb={OLD}&t=1", f"/?cb={NEW}&t=2") == [(OLD.encode(), NEW.encode())]
    assert new_names(f"/?cb={OLD}", "/?cb=alert(1);f") == []


def test_compressed_bodies_stay_compressed() -> None:
    names = [(OLD.encode(), NEW.encode())]
    script = SCRIPT.encode()
    wanted = script.replace(f"{OLD}(".encode(), f"{NEW}(".encode())
    assert gzip.decompress(renamed(gzip.compress(script), "gzip", names) or b"") == wanted
    assert brotli.decompress(renamed(brotli.compress(script), "br", names) or b"") == wanted
    assert renamed(b"cut short", "gzip", names) is None
    assert renamed(script, "zstd", names) is None
