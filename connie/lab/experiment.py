"""One experiment: build a profile's network with its faults, have the client measure in it, take it down."""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connie.lab.network import Network, running_network
from connie.lab.profiles import Profile
from connie.lab.scenarios import make_scenario
from connie.lab.task import ClientTask, write_task
from harness.errors import ExperimentError
from harness.system.netns import inside
from harness.system.processes import bound_to_us, stop
from harness.system.scratch import temporary_directory

CLIENT = Path(__file__).resolve().parent / "client.py"
SEE_OWN_FILES = 'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/nsswitch.conf && shift 2 && exec "$@"'
"""In a mount namespace of its own: nothing outside sees it, and it ends with the client."""


@dataclass(frozen=True)
class Effort:
    """How much is measured: see ClientTask. No `strategies` means all there are."""

    rounds: int
    budget_s: float
    timeout_s: float
    seed: int = 1
    strategies: tuple[str, ...] = ()


def run_profile(profile: Profile, faults: Sequence[str], effort: Effort) -> dict[str, Any]:
    """Build the star of one profile, measure in it, and return what the client found."""
    scenarios = tuple(make_scenario(profile, fault) for fault in faults)
    with ExitStack() as stack:
        work_dir = stack.enter_context(temporary_directory())
        network = stack.enter_context(running_network(profile, scenarios, work_dir, effort.seed))
        task = ClientTask(scenarios, effort.rounds, effort.budget_s, effort.timeout_s, effort.seed,
                    network.star.user.pid, network.star.user.interface, tuple(network.site_pids), network.changed,
                    settle_s(profile), profile.jitter_ms, effort.strategies)
        return run_client(network, task, work_dir)


def settle_s(profile: Profile) -> float:
    """Return the seconds after which no packet of a connect is under way any more: two slow round trips."""
    return 2 * (profile.max_rtt_ms + 5 * profile.jitter_ms) / 1000 + 0.05


def run_client(network: Network, task: ClientTask, work_dir: Path) -> dict[str, Any]:
    """Run the client on the star's user; return what it found. Raises ExperimentError when it fails."""
    task_file, answer_file = work_dir / "task.json", work_dir / "answer.json"
    write_task(task, task_file)
    files = [str(path) for path in network.resolver.values()]
    with answer_file.open("wb") as answer, inside(network.star.user.pid):
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SEE_OWN_FILES, "sh", *files,
                   sys.executable, str(CLIENT), str(task_file)]
        process = subprocess.Popen(bound_to_us(command), stdout=answer, text=True, start_new_session=True)
    try:
        status = process.wait()
    finally:
        stop(process)
    if status != 0:
        raise ExperimentError(f"the client of the star ended with status {status}; its last words stand above")
    found: dict[str, Any] = json.loads(answer_file.read_text(encoding="utf-8"))
    return found
