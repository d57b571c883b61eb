"""The tables of docs/method.md, made from RULES: python -m harness.measure.rules_table writes them anew."""

import textwrap

from harness.bootstrap import ROOT
from harness.measure.rule import Limit, Section
from harness.measure.rules import RULES

PAGE = ROOT / "docs" / "method.md"


def table(section: Section) -> str:
    """Return one section's rules as a list in Markdown; where each threshold comes from stands in RULES."""
    rules = [f"- **{rule.kind.value}** ({rule.blame.value}): {rule.measured}: {_threshold(rule.threshold)}"
             for rule in RULES if rule.section is section]
    return "\n".join(textwrap.fill(rule, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
                     for rule in rules)


def with_tables(text: str) -> str:
    """Return the page's text with each table between its marks made anew."""
    for section in Section:
        begin, end = f"<!-- rules: {section.name} -->\n", "\n<!-- end of rules -->"
        before, _, rest = text.partition(begin)
        text = before + begin + table(section) + end + rest.partition(end)[2]
    return text


def _threshold(threshold: Limit | str) -> str:
    return f"over {threshold}" if isinstance(threshold, Limit) else threshold


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
