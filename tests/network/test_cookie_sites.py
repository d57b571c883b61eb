"""Which servers are of one site, where hosts share servers."""

from harness.network.cookies import sites_of_servers


def test_a_server_of_each_name() -> None:
    assert sites_of_servers({name: [name] for name in ("www.one.test", "a.one.test", "two.test")}) == {
        "www.one.test": "one.test", "a.one.test": "one.test", "two.test": "two.test"}


def test_sites_that_share_a_server_are_one() -> None:
    """So one.test and three.test are, which share none with each other but both one with two.test."""
    names = {"x": ["www.one.test", "two.test"], "y": ["a.two.test", "three.test"], "z": ["img.three.test"],
             "four.test": ["four.test"]}
    assert sites_of_servers(names) == {"x": "one.test", "y": "one.test", "z": "one.test", "four.test": "four.test"}
