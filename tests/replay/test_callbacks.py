"""JSONP: a stand-in calls the function that its page waits for, not the one of the load that was recorded."""

import gzip

import brotli  # type: ignore[import-untyped]
import pytest

from harness.mirror.callbacks import new_names, renamed

OLD, NEW = "jQuery17_1363348800000", "jQuery17_1785000000000"
SCRIPT = f'{OLD}({{"text": "{OLD} is not renamed here"}});'


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
