"""What came of each fault stands in pytest's summary, with the seed that chose them."""

from collections.abc import Callable

import pytest

from tests.support.faults import ALL, SEED
from tests.support.faulty_experiment import Done

OUTCOMES = pytest.StashKey[list[tuple[str, ...]]]()


@pytest.fixture
def note_outcome(request: pytest.FixtureRequest) -> Callable[[Done, str], None]:
    """Give what notes down what came of a fault."""
    outcomes = request.config.stash.setdefault(OUTCOMES, [])
    return lambda done, what: outcomes.append((str(done.fault), f"{done.after_s:.2f}", what))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what came of each fault; docs/data/faults.tsv keeps a whole run of it."""
    outcomes = config.stash.get(OUTCOMES, [])
    if outcomes:
        terminalreporter.section(f"faults: TFO_LAB_FAULTS={'all' if ALL else SEED}")
        terminalreporter.write_line("| fault | s after the load began | what came of it |\n|---|---|---|")
    for row in sorted(outcomes):
        terminalreporter.write_line(f"| {' | '.join(row)} |")
