"""Names of hosts: what a folder, a list of servers and Chrome's rules may hold, and nothing that says more there."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.host_names import is_host_name

LONGEST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])


@pytest.mark.parametrize("name", ["www.a.test", "WWW.A.test", "a_b.test", "_dmarc.a.test", "xn--bcher-kva.test",
                                  "XN--BCHER-KVA.test", "10.0.0.1", "a", "a-b.test", "a-.test", "a.-b.test", "a.test.",
                                  "a" * 63, LONGEST, f"{LONGEST}."])
def test_names_of_hosts(name: str) -> None:
    assert is_host_name(name)


@pytest.mark.parametrize("name", [
    "", ".", "..", ".a", "a..b", "a..", "-a.test", "a b", "a\n", "a\nb", "a,b", "a:80", "*", "*.test", "[::1]", "a/b",
    "a\\b", "a%2eb", "a\0", "b\u00fccher.test", "\uff41.test", "a\u200d.test", "a\u3002test", "\u0661.test",
    "a" * 64, f"{'a' * 64}.test", f"{LONGEST}x", f"x.{LONGEST}", "a" * 254,
    "xn--", "xn--.test", "a.xn--.test", "xn--a-.test", "xn--bcher-kva!", f"xn--{'9' * 59}"])
def test_names_of_no_hosts(name: str) -> None:
    assert not is_host_name(name)


@given(st.text(max_size=20) | st.from_regex(r"[a-zA-Z0-9._-]{1,20}") | st.from_regex(r"(xn--)?[a-z0-9.-]{1,10}"))
def test_no_name_of_a_host_leads_elsewhere_or_says_more(name: str) -> None:
    if is_host_name(name):
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name, re.ASCII)
        assert name not in (".", "..")
        assert all(0 < len(label) < 64 for label in name.removesuffix(".").split("."))


@given(st.lists(st.from_regex(r"[a-z0-9_][a-z0-9_-]{0,20}", fullmatch=True).filter(lambda label: label[:4] != "xn--"),
                min_size=1, max_size=5))
def test_labels_with_dots_between_them_are_a_name(labels: list[str]) -> None:
    assert is_host_name(".".join(labels))


@given(st.text(st.characters(min_codepoint=0xe0, max_codepoint=0x17f, categories=["Ll"]), min_size=1, max_size=20))
def test_names_of_other_scripts_have_idnas_form(label: str) -> None:
    assert not is_host_name(f"{label}.test")
    assert is_host_name(f"xn--{label.encode('punycode').decode()}.test")
