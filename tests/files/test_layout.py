"""Which host names share a server, and the files that say it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.files.layout import Layout, format_layout, joined, read_layout

HOSTS = ["a.one.test", "two.test", "www.one.test"]


def test_a_file_moves_hosts_and_leaves_the_others_where_they_are(tmp_path: Path) -> None:
    file = tmp_path / "cdn.layout"
    file.write_text("# of a CDN\n\nA.one.test cdn # both\ntwo.test cdn\nelsewhere.test cdn\n")
    layout, notes = read_layout(file, HOSTS)
    assert layout.servers(HOSTS) == {"cdn": ["a.one.test", "two.test"], "www.one.test": ["www.one.test"]}
    assert notes == [f"{file}:5: no host elsewhere.test in this recording; left out"]
    assert layout.in_words(HOSTS).startswith("file cdn.layout: 3 host names on 2 servers (")


@pytest.mark.parametrize("server", ["www.one.test", "WWW.One.test"])
def test_a_server_may_be_called_by_a_host(tmp_path: Path, server: str) -> None:
    file = tmp_path / "layout"
    file.write_text(f"a.one.test {server}\n")
    assert read_layout(file, HOSTS)[0].servers(HOSTS) == {"www.one.test": ["a.one.test", "www.one.test"],
                                                          "two.test": ["two.test"]}


@pytest.mark.parametrize(("content", "problem"), [
    ("a.one.test\n", ":1: not a line of a layout: 'a.one.test'; write: host server"),
    ("\na.one.test x y\n", ":2: not a line of a layout"),
    ("a.one.test a,b\n", ":1: not a line of a layout"),
    ("two.test x\ntwo.test y\n", ":2: two.test has a server already, in line 1; leave one out"),
    ("other.test x\n", ":1: a layout of none of this recording's hosts"),
    ("", ":1: a layout of none of this recording's hosts")])
def test_what_is_no_layout(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "layout"
    file.write_text(content)
    with pytest.raises(InputError) as refused:
        read_layout(file, HOSTS)
    assert str(refused.value).startswith(f"{file}{problem}")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no such file.*or one of host, domain, one, recorded"):
        read_layout(tmp_path / "domains", HOSTS)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    layout = Layout("one", dict.fromkeys(HOSTS, "one"))
    (tmp_path / "file").write_text(format_layout(layout, HOSTS))
    assert read_layout(tmp_path / "file", HOSTS)[0].servers(HOSTS) == layout.servers(HOSTS)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3), max_size=8))
def test_what_hangs_together_is_one(groups: list[list[str]]) -> None:
    """Compared with merging any two that overlap until none do."""
    sets = [set(group) for group in groups]
    while pair := next(((a, b) for a in sets for b in sets if a is not b and a & b), None):
        sets = [names for names in sets if names is not pair[0] and names is not pair[1]] + [pair[0] | pair[1]]
    assert joined(groups) == {name: min(names) for names in sets for name in names}
