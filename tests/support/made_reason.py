"""Reasons against loads, made by code: each takes its text."""

from functools import partial

from harness.files.reason_kinds import ReasonKind
from harness.measure.rule import Blame, Reason

accident = partial(Reason, ReasonKind.OTHER, Blame.ACCIDENT)
"""One that may not hold in another try."""
of_the_page = partial(Reason, ReasonKind.OTHER, Blame.PAGE)
"""One that will hold in every load of this page."""
