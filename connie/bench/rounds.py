"""Rounds of calls: every strategy once a round, in an order drawn anew, so that none profits from its place."""

import random
import sys
from collections.abc import Callable, Mapping, Sequence

from connie.bench.summary import CallTimes

Call = Callable[[str], float]
"""Does what is measured with the host of that name; returns the seconds it took. Raises OSError when it fails."""


def run_rounds(calls: Mapping[str, Call], hosts: Sequence[str], rounds: int, seed: int = 1) -> dict[str, CallTimes]:
    """Call everything in `calls` once in each of so many rounds; return what came of it, by the same names.

    The hosts take turns: round i is for hosts[i % len(hosts)]. The same `seed` gives the same order. A shell's progress
    line shows how far it is when standard error is a terminal.
    """
    order = list(calls)
    draw = random.Random(seed)
    found = {name: CallTimes() for name in calls}
    for number in range(rounds):
        host = hosts[number % len(hosts)]
        draw.shuffle(order)
        for name in order:
            _add_call(found[name], calls[name], host)
        _show_progress(number + 1, rounds)
    return found


def _add_call(series: CallTimes, call: Call, host: str) -> None:
    try:
        series.times_s.append(call(host))
    except (OSError, UnicodeError) as error:                # UnicodeError: a name that cannot be one
        series.errors.append(f"{host}: {error}")


def _show_progress(done: int, rounds: int) -> None:
    if sys.stderr.isatty():
        print(f"\rround {done} of {rounds}", end="" if done < rounds else "\r\x1b[K", file=sys.stderr, flush=True)
