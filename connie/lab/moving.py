"""What a cached answer costs when the name has moved meanwhile."""

from collections.abc import Sequence

from connie.bench.sample import Strategy
from connie.bench.strategies import CACHES
from connie.cache import Question
from connie.lab.scenarios import PORT, Scenario
from connie.lab.task import ClientTask, Time
from connie.lab.timing import one_time

REPETITIONS = 3
LABELS = (", first", ", second")


def measure_moving(task: ClientTask, scenario: Scenario, strategies: Sequence[Strategy]) -> list[Time]:
    """Have connie know the old addresses, move the name, connect twice; a few times for every strategy.

    The others keep no names: for them it is two ordinary connects to the new addresses.
    """
    times = []
    for _ in range(REPETITIONS):
        for strategy in strategies:
            task.changed.unlink(missing_ok=True)
            for cache in CACHES:
                cache.clear()
                cache.lookup(Question(scenario.name, PORT))
            task.changed.touch()
            times += [one_time(strategy, scenario, task.timeout_s, label) for label in LABELS]
    task.changed.unlink(missing_ok=True)
    for cache in CACHES:
        cache.clear()
    return times
