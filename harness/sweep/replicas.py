"""The sites that wait to be measured a second time, each on another machine than the first time."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from harness.sweep.plan import UnitTask
from harness.sweep.workers import Worker


class Replicas:
    """Second measurements that nobody does yet, by their unit's key."""

    def __init__(self) -> None:
        """None is known yet."""
        self._waiting: dict[str, tuple[UnitTask, str]] = {}

    def __len__(self) -> int:
        """Return how many sites wait."""
        return len(self._waiting)

    def add(self, job: UnitTask, first_machine: str) -> None:
        """Have `job` wait for any machine but the one with the id `first_machine`."""
        self._waiting[job.unit.key] = job, first_machine

    def take(self, key: str) -> UnitTask:
        """Return the job of that key, which waits no more."""
        return self._waiting.pop(key)[0]

    def possible(self, workers: Mapping[str, Worker], busy: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Give each site for which there is another machine: the site's key, and the address of a worker there.

        `busy` has the address of a worker once for each unit that it has; who has the fewest comes first.
        """
        machines: dict[str, list[str]] = {}
        for address, worker in workers.items():
            if worker.machine:
                machines.setdefault(worker.machine.id, []).append(address)
        load = Counter(busy)
        for key, (_, not_there) in list(self._waiting.items()):
            others = next((addresses for machine, addresses in machines.items() if machine != not_there), None)
            if others:
                address = min(others, key=lambda address: load[address])
                load[address] += 1
                machines = dict(sorted(machines.items(), key=lambda pair: min(load[each] for each in pair[1])))
                yield key, address
