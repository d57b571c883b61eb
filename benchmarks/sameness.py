#!/usr/bin/env python3
"""How often the rule which loads are the same page (harness/measure/sameness.py) is wrong, on loads that were measured.

False rejections: loads of a client folder that it tells from their page's others, although nobody spoiled them.
False acceptances: each load is spoiled again and again, as a broken mirror or a dead server would have spoiled it, and
judged among the page's other loads as they are.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.analysis.asked_for import PARTS
from harness.errors import run_main
from harness.files.load_parts import ReceivedAnswer
from harness.files.load_record import LoadRecord
from harness.files.reason_kinds import ReasonKind
from harness.files.results import read_results
from harness.measure import sameness
from harness.system.options import SEED, OptionParser, Whole

Answers = list[ReceivedAnswer]
Spoil = Callable[[Answers, random.Random], Answers]
REFUSED = "net::ERR_CONNECTION_REFUSED"
GROWN_BYTES = 200_000
OF_OTHERS = frozenset((ReasonKind.EARLY_LOAD_EVENT, ReasonKind.OTHER_ANSWERS))


def is_needed(answer: ReceivedAnswer) -> bool:
    """Tell whether the page before its load event needs the answer."""
    return (answer.purpose in PARTS or bool(answer.critical)) and not answer.late and is_answered(answer)


def is_rest(answer: ReceivedAnswer) -> bool:
    """Tell whether it is an answer before the load event without which it is still the same page."""
    return not is_needed(answer) and not answer.late and is_answered(answer)


def is_answered(answer: ReceivedAnswer) -> bool:
    """Tell whether it came, from the recording."""
    return answer.kind in ("exact", "stand-in") and not answer.error and answer.identity not in ("", "-")


def with_one(change: Callable[[ReceivedAnswer], ReceivedAnswer | None]) -> Spoil:
    """Return what changes one answer that the page needs, at random, or takes it away."""
    def spoil(each: Answers, chance: random.Random) -> Answers:
        victim = chance.choice([answer for answer in each if is_needed(answer)])
        same = [answer.identity == victim.identity for answer in each]
        changed = [change(answer) if hit else answer for answer, hit in zip(each, same, strict=True)]
        return [answer for answer in changed if answer]
    return spoil


def without_rest(share: float) -> Spoil:
    """Return what takes away so large a share of all of the page's answers, of those that it can do without."""
    def spoil(each: Answers, chance: random.Random) -> Answers:
        rest = [answer.identity for answer in each if is_rest(answer)]
        wanted = max(1, round(share * len({answer.identity for answer in each if not answer.late})))
        lost = set(chance.sample(sorted(set(rest)), min(wanted, len(set(rest)))))
        return [answer for answer in each if answer.identity not in lost]
    return spoil


def cut_off(each: Answers, chance: random.Random) -> Answers:
    """Lose all that was asked for from some moment before the load event on, the document excepted."""
    before = [index for index, answer in enumerate(each) if not answer.late]
    return each[:chance.choice(before[1:])]


DIFFERENT: dict[str, Spoil] = {
    "a part not asked for": with_one(lambda _answer: None),
    "a part refused: its server is dead": with_one(
        lambda answer: replace(answer, kind="failed", identity="", status=0, bytes=0, error=REFUSED)),
    "a part deleted: 404": with_one(lambda answer: replace(answer, kind="missing", identity="-", status=404, bytes=0)),
    "a part grown by 200 kB": with_one(lambda answer: replace(answer, bytes=answer.bytes + GROWN_BYTES)),
    "a tenth of the answers lost, none of them a part": without_rest(0.10),
    "all lost from a random request on": cut_off,
}
ALIKE: dict[str, Spoil] = {"one answer lost that is no part": without_rest(0.0)}


def main() -> int:
    """Print the table; the exit status is 1 when a verdict was wrong."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("client", type=Path, nargs="+", help="folders of results")
    parser.add_argument("--times", type=Whole(1, 10_000), default=5, help="how often each load is spoiled each way "
                        "(%(default)s)")
    parser.add_argument("--seed", type=SEED, default=1)
    arguments = parser.parse_args()
    groups = [group for client in arguments.client for group in comparable(client)]
    rejected = [why for group in groups for why in sameness.compared(group, [True] * len(group)) if why]
    wrong = len(rejected)
    print("loads", "number", "called another page", "wanted", sep="\t")
    print("nobody spoiled them", sum(map(len, groups)), wrong, "none", sep="\t")
    for ways, right in ((DIFFERENT, True), (ALIKE, False)):
        for what, spoil in ways.items():
            found = list(verdicts(groups, spoil, arguments))
            print(what, len(found), sum(found), "all" if right else "none", sep="\t")
            wrong += sum(verdict != right for verdict in found)
    return 1 if wrong else 0


def comparable(client: Path) -> list[list[LoadRecord]]:
    """Return the records that are judged together: of a page at one delay, those that nothing else speaks against."""
    groups: dict[tuple[str, float], list[LoadRecord]] = {}
    for load in read_results(client).loads:
        if load.record and load.record.answers and OF_OTHERS.issuperset(load.record.why_not_kinds):
            groups.setdefault((load.page, load.rtt_ms), []).append(load.record)
    return list(groups.values())


def verdicts(groups: Sequence[Sequence[LoadRecord]], spoil: Spoil, arguments: argparse.Namespace) -> Iterator[bool]:
    """Spoil each load of each group in turn; give whether that is seen. The others stay as they are."""
    chance = random.Random(arguments.seed)
    for group in groups:
        for index, record in enumerate(group):
            if not any(map(is_needed, record.answers.each if record.answers else ())):
                continue                    # a page that is one document has nothing that could be taken away
            for _ in range(arguments.times):
                spoiled = with_answers(record, spoil, chance)
                judged = sameness.compared([*group[:index], spoiled, *group[index + 1:]], [True] * len(group))
                yield any(judged)         # of two that differ it is the poorer one


def with_answers(record: LoadRecord, spoil: Spoil, chance: random.Random) -> LoadRecord:
    """Return the record with its answers spoiled."""
    answers = record.answers
    assert answers, "comparable() gives no others"
    return replace(record, answers=replace(answers, each=tuple(spoil(list(answers.each), chance))))


if __name__ == "__main__":
    run_main(main)
