"""tfo.py's options: what --paper stands for, and the rates of user's link."""

import argparse
import json
from dataclasses import asdict, fields, replace

import pytest

from harness.errors import InputError
from harness.measure.command_line import parse_arguments
from harness.measure.settings import OPTIONS, Settings, home_rates_mbit, read_settings


def settings(*words: str) -> Settings:
    return parse_arguments("x", words)[0]


def test_the_papers_network_and_browser() -> None:
    found = settings("--paper", "--delaynet", "100")
    assert (found.bw_home_mbit, found.bw_home_up_mbit, found.buffer_kb, found.bw_net_mbit) == (4, 0.256, 128, 1000)
    assert (found.http, found.predict, found.delays_ms) == ("1.1", True, [100])


@pytest.mark.parametrize("words", [
    ["--paper", "--http", "1.0"], ["--paper", "--bwhome=4/0.256"], ["--paper", "--predict"],
    ["--paper", "--buffer", "64"], ["--buffer", "64", "--delayhome", "10"], ["--sweep-rtt", "2,5", "--delayhome", "1"],
    ["--rtt", "recorded", "--delayhome", "5"], ["--rtt", "recorded*2", "--delaynet", "10"],
    ["--delays", "5", "--sweep-rtt", "10"], ["--resume", "--new-run", ""], ["--resume", "--on-user", "true"],
    ["--early", "on"], ["--early", "off", "--server", "2013"], ["--http", "h3", "--server", "2013"],
    ["--http", "h3", "--tfo", "1"], ["--early", "on", "--http", "h2", "--cookies", "cold"],
    ["--early", "on", "--http", "h2", "--until-ci", "3"], ["--compare-transports", "--http", "1.1"],
    ["--compare-transports", "--early", "on"], ["--compare-transports", "--tfo", "0"],
    ["--compare-transports", "--post-quantum"]])
def test_what_does_not_go_together_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        settings(*words)
    assert (ended.value.code, capsys.readouterr().err.count("\n")) == (2, 1)


@pytest.mark.parametrize(("words", "transports", "pairs"), [
    ((), ["TCP", "TFO"], False), (("--tfo", "1"), ["TFO"], False), (("--http", "h2"), ["TCP", "TFO"], False),
    (("--early", "off"), ["TCP", "TFO"], True), (("--early", "on", "--http", "h2"), ["TCP", "EARLY"], True),
    (("--early", "on", "--http", "h2", "--tfo", "1"), ["TFO", "TFO_EARLY"], True),
    (("--http", "h3"), ["TCP", "QUIC"], True), (("--http", "h3", "--early", "off"), ["TCP", "QUIC"], True),
    (("--http", "h3", "--early", "on"), ["QUIC", "QUIC_EARLY"], True),
    (("--compare-transports",), ["TCP", "TFO", "EARLY", "TFO_EARLY", "QUIC", "QUIC_EARLY"], True)])
def test_what_is_measured_beside_each_other(words: tuple[str, ...], transports: list[str], pairs: bool) -> None:
    found = settings(*words)
    assert ([each.name for each in found.transports], found.warm_pairs) == (transports, pairs)


@pytest.mark.parametrize(("words", "rtt", "delays_ms"), [
    ((), None, [10, 50, 100]), (("--rtt", "recorded"), "recorded", []),
    (("--rtt", "recorded*0.50"), "recorded*0.5", []),
    (("--rtt", "recorded", "--delaynet", "25"), "recorded", [25]),
    (("--delays", "5 2.5"), None, [5, 2.5]), (("--sweep-rtt", "2,5,20"), None, [1, 2.5, 10])])
def test_rtts(words: tuple[str, ...], rtt: str | None, delays_ms: list[float]) -> None:
    found = settings(*words)
    assert (found.rtt, [*found.delays_ms]) == (rtt, delays_ms)


@pytest.mark.parametrize("word", ["", "record", "recorded*", "recorded*0", "recorded*nan", "recorded*-1",
                                  "recorded*101", "recorded**2", "recorded 2", "20", "recorded*2\n"])
def test_what_is_no_rtt(word: str) -> None:
    with pytest.raises(SystemExit):
        settings("--rtt", word)


def test_as_json_they_are_the_same() -> None:
    found = settings("--paper", "--rtt", "recorded*2", "--until-ci", "3", "--tls-port", "9000")
    assert read_settings(json.dumps(asdict(found))) == replace(found, delays_ms=[])
    with pytest.raises(InputError):
        read_settings('{"http": 1}')


def test_the_experiments_file_has_what_changes_the_numbers() -> None:
    said = Settings().to_json()
    assert {"bw_home_up_mbit", "http", "rtt", "pcap", "seed"} <= set(said)
    assert not {"port", "tls_port", "delays_ms", "retries"} & set(said)
    assert {each.name for each in fields(Settings)} - set(OPTIONS) == {"bw_home_up_mbit"}


@pytest.mark.parametrize(("text", "rates"), [("4", (4, None)), ("4/0.256", (4, 0.256)), ("1000/4", (1000, 4))])
def test_rates_of_the_clients_link(text: str, rates: tuple[float, float | None]) -> None:
    assert home_rates_mbit(text) == rates


@pytest.mark.parametrize("text", ["4/", "/4", "4/0", "4/1/1", "nan", "4/-1", "", "1e3", "4/٤"])
def test_rates_that_are_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        home_rates_mbit(text)
