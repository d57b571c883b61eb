"""The host-remap file, and Chrome's resolver rules made of it: no name may lead out of the machine."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.files.hack_dns import Remap, read_hack_dns, resolver_rules, write_hack_dns

hosts = st.from_regex(r"[ab_09][abz09_-]{0,5}(\.[abz09_-]{1,6}){0,2}", fullmatch=True)
remaps = st.lists(st.builds(Remap, hosts, st.ip_addresses(v=4).map(str), st.integers(1, 65535),
                            st.sampled_from(["http", "https"])))


def remap_file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "hack_dns"
    path.write_bytes(content)
    return path


@settings(max_examples=40)
@given(wanted=remaps)
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, wanted: list[Remap]) -> None:
    path = tmp_path_factory.getbasetemp() / "hack_dns"
    write_hack_dns(path, wanted)
    assert read_hack_dns(path) == wanted


def test_the_format_of_2013(tmp_path: Path) -> None:
    path = remap_file(tmp_path, b"www.example.org 10.0.0.2 8000\n\n  \nads.example.com\t10.0.0.3   8001\r\n\n")
    assert read_hack_dns(path) == [
        Remap("www.example.org", "10.0.0.2", 8000), Remap("ads.example.com", "10.0.0.3", 8001)]
    write_hack_dns(path, read_hack_dns(path))
    assert path.read_text() == "www.example.org 10.0.0.2 8000\nads.example.com 10.0.0.3 8001\n"


def test_http_and_https_of_one_host(tmp_path: Path) -> None:
    text = b"a.org 10.0.0.2 8000\na.org 10.0.0.2 8001 https\n"
    path = remap_file(tmp_path, text)
    both = read_hack_dns(path)
    assert both == [Remap("a.org", "10.0.0.2", 8000, "http"), Remap("a.org", "10.0.0.2", 8001, "https")]
    assert resolver_rules(both) == "MAP a.org:80 10.0.0.2:8000,MAP a.org:443 10.0.0.2:8001,MAP * ~NOTFOUND"
    write_hack_dns(path, both)
    assert path.read_bytes() == text


@pytest.mark.parametrize("line", [
    "www.example.org", "www.example.org 10.0.0.2", "www.example.org 10.0.0.2 8000 x", "www.example.org 8000 10.0.0.2",
    "www.example.org 10.0.0.256 8000", "www.example.org 10.0.0 8000", "www.example.org localhost 8000",
    "www.example.org 10.0.0.2 0", "www.example.org 10.0.0.2 65536", "www.example.org 10.0.0.2 -1",
    "www.example.org 10.0.0.2 http", "a.org 10.0.0.2 8000 HTTPS", "a.org 10.0.0.2 8000 https x",
    "www.example.org 10.0.0.2 80.0", "# a comment",
    "a,MAP 10.0.0.2 80", "* 10.0.0.2 80", "a:80 10.0.0.2 80", "a..b 10.0.0.2 80", "b\u00fccher.test 10.0.0.2 80"])
def test_a_bad_line_is_named_with_its_place(tmp_path: Path, line: str) -> None:
    path = remap_file(tmp_path, f"a.org 10.0.0.1 80\n\n{line}\nb.org 10.0.0.2 80\n".encode())
    with pytest.raises(InputError) as caught:
        read_hack_dns(path)
    assert str(caught.value) == f"{path}:3: not a remap: {line!r}; write: hostname ip port [https]"


def test_an_unreadable_file_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path, remap_file(tmp_path, b"a.org 10.0.0.1 80\n\xff\xfe 1 2\n")):
        with pytest.raises(InputError, match=r"cannot be read \(.*\); run tfo\.py") as caught:
            read_hack_dns(path)
        assert str(caught.value).startswith(f"{path}:")
        assert "\n" not in str(caught.value)


@settings(max_examples=40)
@given(wanted=remaps)
def test_the_last_rule_always_stops_every_other_name(wanted: list[Remap]) -> None:
    # Chrome takes the first rule that fits, so the catch-all has to be there, once, and at the end.
    *own, last = resolver_rules(wanted).split(",")
    assert last == "MAP * ~NOTFOUND"
    ports = {"http": 80, "https": 443}
    assert own == [f"MAP {remap.host}:{ports[remap.scheme]} {remap.address}:{remap.port}" for remap in wanted]
    assert resolver_rules([]) == last
