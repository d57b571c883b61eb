"""An experiment's RTTs, one after the other in one network: what is to be measured at each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import many
from harness.files.pages import Page
from harness.measure.plan import Load, plan_loads
from harness.measure.resume import EMPTY, Earlier, loads_to_do, read_earlier
from harness.measure.settings import Settings
from harness.network.star import LinkSpeeds

LOAD_S, LOAD_OF_PAPER_S, PAIR_S = 7, 10, 13
"""What a load of a page like the paper's takes, in s; over the paper's own network, where nytimes' takes 9 s; with a
visit before."""


@dataclass(frozen=True)
class Stage:
    """One RTT of an experiment: its links, what the experiment's file says of it, what was measured, and what is left.

    `earlier` is EMPTY but for an experiment that is resumed.
    """

    speeds: LinkSpeeds
    known: Mapping[str, Any]
    earlier: Earlier
    to_do: Sequence[Load]

    def says_it_is_done(self) -> bool:
        """Tell whether nothing is left to measure, and print so."""
        if not self.to_do:
            print(f"{self.speeds.rtt_ms:g} ms: all {len(self.earlier.valid)} page loads are there already", flush=True)
        return not self.to_do


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is loaded at each RTT: all pages, run by run, the first of which warms up, and more for a goal."""

    pages: Sequence[Page]
    settings: Settings

    def stages(self, links: Sequence[LinkSpeeds], known: Sequence[Mapping[str, Any]],
               clientdir: Path | None = None) -> list[Stage]:
        """Return what is to be measured over each of `links`, of which the experiments' files say what is `known`.

        A page is warmed up once, before its first measured load in the network: its TFO cookies stay when the delay
        changes. What is in `clientdir` already is not measured again. Raises InputError when that was measured with
        other settings.
        """
        chosen = self.settings
        plan = plan_loads(self.pages, chosen.testruns, chosen.transports, chosen.seed, chosen.warm_ups)
        warm: set[Page] = set()
        stages = []
        for speeds, said in zip(links, known, strict=True):
            earlier = read_earlier(clientdir, speeds.delay_net_ms, plan, said) if clientdir else EMPTY
            to_do = loads_to_do(plan, earlier, chosen.goal, chosen.seed, warm)
            warm |= {load.page for load in to_do}
            stages.append(Stage(speeds, said, earlier, to_do))
        return stages

    def in_words(self, stages: Sequence[Stage], *, resume: bool) -> str:
        """Return how many loads there are, and how long pages like the paper's take."""
        transports, goal, warm_ups = self.settings.transports, self.settings.goal, len(self.settings.warm_ups)
        sides = "TFO off and on" if transports == [0, 1] else " and ".join(each.words for each in transports)
        runs = (goal.max_runs if goal else self.settings.testruns - 1)
        loads = len(self.pages) * (warm_ups + len(transports) * len(stages) * runs)
        left = sum(len(stage.to_do) for stage in stages) if resume else loads
        load_s = PAIR_S if self.settings.warm_pairs else LOAD_OF_PAPER_S if self.settings.paper else LOAD_S
        minutes = math.ceil(left * load_s / 60)
        most, still = "at most " if goal else "", f", of which {left} are left" if resume else ""
        return f"{most}{many(len(self.pages), 'page')} x ({many(warm_ups, 'warm-up')} + {many(len(stages), 'delay')} " \
               f"x {many(runs, 'run')} x {sides}) = {loads} page loads{still}; about {many(minutes, 'minute')} for " \
               "pages like the paper's"
