"""What holds for any text, and any body: pages, remaps, moments, content codings.

What is read in which: tests/corpus/texts.jsonl, functions.json.
"""

import time

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.files.encoding import CODINGS, NOT_MADE, SUBSTITUTES, can_be_made, decode, encode
from harness.files.hosts import PORTS, Remap, read_hack_dns, resolver_rules, write_hack_dns
from harness.files.moments import moment_of
from harness.files.pages import page_of, read_pages
from tests.support.growth import assert_linear

hosts = st.from_regex(r"[a-z0-9_]{1,20}(\.[a-z0-9_]{1,20}){0,4}", fullmatch=True)
remaps = st.lists(st.builds(Remap, hosts, st.ip_addresses(v=4).map(str), st.integers(1, 65535),
                            st.sampled_from([*PORTS])))


@settings(max_examples=40)
@given(wanted=remaps)
def test_the_last_rule_always_stops_every_other_name(tmp_path_factory: pytest.TempPathFactory,
                                                     wanted: list[Remap]) -> None:
    """Chrome takes the first rule that fits, so the catch-all has to be there, once, and at the end."""
    path = tmp_path_factory.getbasetemp() / "hack_dns"
    write_hack_dns(path, wanted)
    assert read_hack_dns(path) == wanted
    assert resolver_rules(wanted).split(",") == [
        *(f"MAP {remap.host}:{PORTS[remap.scheme]} {remap.address}:{remap.port}" for remap in wanted),
        "MAP * ~NOTFOUND"]


@given(st.text(max_size=80) | st.lists(st.sampled_from(["http://a.test", "HTTPS://B.test:443/", ""])).map("\n".join))
def test_any_text_gives_pages_or_one_line(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.pages"
    path.write_text(content, encoding="utf-8", newline="")
    try:
        pages = read_pages(path)
    except InputError as error:
        assert str(error).startswith(f"{path}:")  # noqa: PT017
        return
    assert pages
    assert len({page.name for page in pages}) == len(pages)
    assert [page_of(page.url) for page in pages] == pages
    assert all(page.url.lower().startswith(("http://", "https://")) for page in pages)


def test_a_moment_without_a_zone_is_utc_s_wherever_the_machine_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    found = moment_of("2024-07-05T10:00:00.000123")
    monkeypatch.undo()
    time.tzset()
    assert found == moment_of("2024-07-05T10:00:00.000123Z")


def test_many_frames_are_read_one_after_the_other() -> None:
    assert_linear(lambda size: decode(zstandard.ZstdCompressor().compress(b"") * size, "zstd"), 2000)


NAMES = st.sampled_from([*CODINGS, *map(str.upper, CODINGS), *NOT_MADE, "utf-8", "identity", "", " "])


@given(st.binary(min_size=1, max_size=2000), st.lists(NAMES, max_size=5), st.integers(-1, 3000))
def test_a_list_of_codings_is_made_and_undone_and_what_cannot_be_made_becomes_what_can(
        body: bytes, names: list[str], wanted_bytes: int) -> None:
    """RFC 9110, section 8.4: in any case, with items that are none."""
    named = ",".join(names)
    encoded, made = encode(body, named, wanted_bytes)
    assert decode(encoded, made) == (body, True)
    if can_be_made(named):
        assert decode(encoded, named) == (body, True)
        assert encode(body, made, len(encoded))[1] == made
    else:
        assert made in SUBSTITUTES or NOT_MADE.isdisjoint(names)


@given(st.binary(max_size=300))
def test_an_undoing_of_anything_ends(body: bytes) -> None:
    for name in CODINGS:
        assert decode(body, name)[1] or decode(body, name)[0] == body
