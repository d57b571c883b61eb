"""Loads beside the verdict on each: ``loads/*.jsonl``, a page's loads a line, which are judged together.

A line has `what` the loads are, the records of these `loads`, cut to what rules look at, and for each load `why` it
does not count: the kind of each reason, and who is to blame. star, loopback, spoiled (tests/programs/
test_broken_loads.py) and injections (benchmarks/disturbed.py) are of real loads, made, middleboxes, together and
compared of made ones. Those of compared are judged by its `rules` alone; of their answers only what is unusual is
written (`full`).
"""

from collections import Counter
from pathlib import Path

import pytest

from harness.files.load_record import FORMAT, LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.measure.rules import RULES, judge
from tests.support.noted import JsonObject, cases

DOCUMENT = {"url": "http://a.org/", "status": 200, "bytes": 5, "recorded_bytes": [5]}
USUAL = {"kind": "exact", "status": 200, "bytes": 100, "critical": False, "purpose": "image"}
FILES = sorted((Path(__file__).parent / "loads").glob("*.jsonl"))


def full(load: JsonObject) -> LoadRecord:
    """Return a load with what its line leaves out: an answer has its identity (`id`), and all else is as usual."""
    load = {"format": FORMAT, "url": "http://a.org", "page": "httpa.org", "delaynet_ms": 10, "rtt_ms": 20, "tfo": 0,
            "run": 1, **load, "valid": True}
    if answers := load.get("answers"):
        each = [{**USUAL, "url": f"http://a.test/{answer['id']}", "identity": answer["id"], **answer}
                if "id" in answer else answer for answer in answers.get("each", ())]
        load["answers"] = {"exact": 0, "stand_in": 0, "missing": 0, "failed": 0, **answers, "each": each}
    return LoadRecord.from_json(load)


def verdicts(case: JsonObject, without: ReasonKind | None = None) -> list[list[list[str]]]:
    """Return the verdicts on the loads of a line, also when one rule is missing."""
    ours = [rule for rule in RULES if rule.kind in case.get("rules", ReasonKind) or rule.kind is ReasonKind.BROWSER]
    known = {"document": DOCUMENT} if "rules" in case else {}
    found = judge([full(known | load) for load in case["loads"]], [rule for rule in ours if rule.kind is not without])
    return [[[reason.kind.value, reason.blame.value] for reason in reasons] for reasons in found]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_load_gets_the_verdict_beside_it(file: Path) -> None:
    for number, case in enumerate(cases(file), start=1):
        assert verdicts(case) == case["why"], f"{file.name}:{number}: {case['what']}"


def test_each_rule_is_broken_by_a_load_and_says_so_only_while_it_is_there() -> None:
    said: Counter[str] = Counter()
    for case in (case for file in FILES for case in cases(file)):
        for kind in {kind for why in case["why"] for kind, _ in why}:
            said[kind] += 1
            assert kind not in {found for why in verdicts(case, ReasonKind(kind)) for found, _ in why}
    assert set(said) == {rule.kind.value for rule in RULES}
