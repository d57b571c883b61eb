"""The lists of rules in docs/method.md, made from the rules: `python -m tests.measure.table_of_rules` writes them."""

import textwrap

from harness.bootstrap import ROOT
from harness.measure.content_rules import CONTENT
from harness.measure.network_rules import NETWORK
from harness.measure.rule import NO_TOLERANCE, Limit, Rule
from harness.measure.rules import BESIDE_OTHERS
from harness.measure.time_rules import TIME

METHOD = ROOT / "docs" / "method.md"


def with_rules(text: str) -> str:
    """Return the page's text with the rules of each kind, between their marks, made anew."""
    for name, rules in (("CONTENT", (*CONTENT, *BESIDE_OTHERS)), ("NETWORK", NETWORK), ("TIME", TIME)):
        begin, end = f"<!-- rules: {name} -->\n", "\n<!-- end of rules -->"
        before, _, rest = text.partition(begin)
        text = before + begin + "\n".join(map(_line, rules)) + end + rest.partition(end)[2]
    return text


def _line(rule: Rule) -> str:
    """Return a rule as an item of a list: its name, whose fault it is, what breaks it, the limit, and its source.

    What the source says in particular stands in the code only.
    """
    limit = f"over {rule.threshold}" if isinstance(rule.threshold, Limit) else rule.threshold
    source = rule.source.partition(": ")[0]
    return textwrap.fill(f"- **{rule.kind.value}** ({rule.blame.value}): {rule.measured}"
                         f"{'' if limit == NO_TOLERANCE else f': {limit}'}{source and f' ({source})'}",
                         118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    METHOD.write_text(with_rules(METHOD.read_text()))
