"""tfo.py's options: ``options.jsonl``, a command line a line, and what it chooses, or that it is refused."""

import json
from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from harness.errors import InputError
from harness.measure.command_line import parse_arguments
from harness.measure.settings import OPTIONS, Settings, read_settings
from tests.support.noted import each_case


def settings(*words: str) -> Settings:
    return parse_arguments("x", words)[0]


@each_case("measure/options.jsonl")
def test_each_command_line_chooses_what_is_beside_it(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    if case.pop("refused", False):
        with pytest.raises(SystemExit) as ended:
            settings(*case["words"])
        assert (ended.value.code, capsys.readouterr().err.count("\n")) == (2, 1)
        return
    found = settings(*case.pop("words"))
    names = {"transports": [each.name for each in found.transports], "delays_ms": [*found.delays_ms]}
    assert {name: names.get(name, getattr(found, name)) for name in case} == case


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
