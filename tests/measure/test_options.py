"""tfo.py's options: what --paper stands for, and the rates of user's link."""

import argparse
import sys

import pytest

from harness.errors import InputError
from harness.measure.network_options import home_rates_mbit
from harness.measure.options import parse_arguments


def parsed(monkeypatch: pytest.MonkeyPatch, *words: str) -> argparse.Namespace:
    monkeypatch.setattr(sys, "argv", ["tfo.py", *words])
    return parse_arguments("x")


def test_the_papers_network_and_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    found = parsed(monkeypatch, "--paper", "--delaynet", "100")
    assert (found.bwhome, found.buffer, found.bwnet, found.http, found.predict) == ((4, 0.256), 128, 1000, "1.1", True)
    assert found.delays == [100]


@pytest.mark.parametrize("words", [["--http", "1.0"], ["--bwhome=4/0.256"], ["--predict"], ["--buffer", "64"]])
def test_what_paper_says_is_not_said_besides(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    with pytest.raises(InputError, match=f"^tfo.py: --paper: says what {words[0].partition('=')[0]} is"):
        parsed(monkeypatch, "--paper", *words)


@pytest.mark.parametrize(("text", "rates"), [("4", (4, None)), ("4/0.256", (4, 0.256)), ("1000/4", (1000, 4))])
def test_rates_of_the_clients_link(text: str, rates: tuple[float, float | None]) -> None:
    assert home_rates_mbit(text) == rates


@pytest.mark.parametrize("text", ["4/", "/4", "4/0", "4/1/1", "nan", "4/-1", "", "1e3", "4/٤"])
def test_rates_that_are_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        home_rates_mbit(text)


def test_a_buffer_is_not_behind_a_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="--buffer: stands before user's link"):
        parsed(monkeypatch, "--buffer", "64", "--delayhome", "10")
