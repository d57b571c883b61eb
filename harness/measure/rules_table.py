"""The tables of docs/validity.md, made from RULES: python -m harness.measure.rules_table writes them anew."""

from harness.bootstrap import ROOT
from harness.measure.rule import Limit, Section
from harness.measure.rules import RULES

PAGE = ROOT / "docs" / "validity.md"


def table(section: Section) -> str:
    """Return one section's rules as a table in Markdown."""
    head = "kind", "what is looked at", "threshold", "to blame", "why so much"
    rows = [(rule.kind.value, rule.measured, _threshold(rule.threshold), rule.blame.value, rule.source)
            for rule in RULES if rule.section is section]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


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
