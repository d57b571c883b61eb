"""What pages of docs/ have from the program itself: the rules of method.md.

python -m harness.measure.tables_in_docs writes them anew.
"""

import textwrap
from collections.abc import Callable, Iterable
from functools import partial

from harness.bootstrap import ROOT
from harness.measure.rule import Limit, Section
from harness.measure.rules import RULES

DOCS = ROOT / "docs"


def of_section(section: Section) -> str:
    """Return one section's rules; where each threshold comes from stands in RULES."""
    return _list(f"**{rule.kind.value}** ({rule.blame.value}): {rule.measured}: {_threshold(rule.threshold)}"
                 for rule in RULES if rule.section is section)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "method.md": {f"rules: {section.name}": partial(of_section, section) for section in Section}}
"""By page, what stands between which marks."""


def with_tables(page: str, text: str) -> str:
    """Return a page's text with what stands between its marks made anew."""
    for mark, made in TABLES[page].items():
        begin, end = f"<!-- {mark} -->\n", f"\n<!-- end of {mark.partition(':')[0]} -->"
        before, _, rest = text.partition(begin)
        text = before + begin + made() + end + rest.partition(end)[2]
    return text


def _list(lines: Iterable[str]) -> str:
    return "\n".join(textwrap.fill(f"- {line}", 118, subsequent_indent="  ", break_long_words=False,
                                   break_on_hyphens=False) for line in lines)


def _threshold(threshold: Limit | str) -> str:
    return f"over {threshold}" if isinstance(threshold, Limit) else threshold


if __name__ == "__main__":
    for name in TABLES:
        (DOCS / name).write_text(with_tables(name, (DOCS / name).read_text()))
