"""The injected script in a real Chrome: the same time and randomness each load, and a Date that scripts cannot tell."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.support.own_chrome import asked

pytestmark = pytest.mark.chrome

INSTANT_MS = 1_363_348_800_000          # `date -d 2013-03-15T12:00Z +%s`000

PAGE = """<!doctype html><title>x</title><iframe srcdoc="<script>parent.inFrame = Date.now()</script>"></iframe><script>
function probe() {
  const found = {};
  found.now = Array.from({length: 60}, () => Date.now());
  found.randoms = Array.from({length: 1000}, () => Math.random());
  let waited = 0;
  for (const began = +new Date(); +new Date() < began + 50 && waited < 100000;) waited++;
  found.waited = waited;
  const date = new Date();
  found.instance = [date instanceof Date, new Date(0) instanceof Date, {} instanceof Date];
  found.kind = [Object.prototype.toString.call(date), typeof Date, Date.name, Date.length, typeof Date()];
  found.asked = [new Date(0).getTime(), new Date(2013, 2, 15).getTime(), new Date('2001-02-03T04:05:06Z').getTime(),
                 new Date(new Date(77)).getTime(), Date.UTC(1970, 0, 2), Date.parse('1970-01-01T00:00:01Z')];
  found.invalid = [isNaN(new Date(undefined)), isNaN(new Date('x'))];
  found.called = [Date(), Date(0), Date.call(null, 5)].map(Date.parse);
  found.constructors = [date.constructor === Date, Date.prototype.constructor === Date,
                        Object.getPrototypeOf(date) === Date.prototype];
  class Moment extends Date { constructor(...given) { super(...given); this.more = 1; } twice() { return 2 * this; } }
  const moment = new Moment(), early = new Moment(21);
  found.subclass = [moment instanceof Moment, moment instanceof Date, moment.more, early.twice(), moment.getFullYear()];
  found.reflected = Reflect.construct(Date, [], Moment) instanceof Moment;
  found.realClock = performance[Symbol.for('tfo-lab.timeOrigin')];
  found.shownClock = performance.timeOrigin;
  const before = performance.now();
  while (performance.now() === before);
  found.performanceMoves = performance.now() > before;
  found.inFrame = window.inFrame;
  const own = Date.now;
  found.described = Object.getOwnPropertyDescriptor(Date, 'now').value === own;
  Date.now = () => 7;
  found.replaced = Date.now();
  Date.now = own;
  Object.freeze(Date);
  found.frozen = [Date.now() >= atStart, new Date() >= atStart];
  return found;
}
const atStart = Date.now();
</script>"""

@pytest.fixture(scope="module")
def loads() -> list[dict[str, Any]]:
    """Return what the page's script found in each of two loads, in Chrome in its sandbox."""
    return asked(*[(f"data:text/html,{quote(PAGE)}", "async () => ({...probe(), atStart})")] * 2)


def test_two_loads_see_the_same_time_and_randomness(loads: list[dict[str, Any]]) -> None:
    first, second = ({name: value for name, value in load.items() if name != "realClock"} for load in loads)
    assert first == second
    assert loads[0]["realClock"] < loads[1]["realClock"], "performance.now(), which times loads, is left alone"


def test_the_time_moves_on_from_the_instant_of_the_recording_but_slowly(loads: list[dict[str, Any]]) -> None:
    found = loads[0]
    assert found["atStart"] == found["inFrame"] == INSTANT_MS
    assert found["now"] == sorted(found["now"])
    assert found["now"][-1] - found["now"][0] in (2, 3), "60 questions, 20 to the millisecond"
    assert found["waited"] == pytest.approx(1000, abs=25), "who waits 50 ms by asking is let go"
    assert all(0 <= called - INSTANT_MS < 1000 for called in found["called"]), "as a function it is that time as text"


def test_date_behaves_as_date_does_also_replaced_and_frozen(loads: list[dict[str, Any]]) -> None:
    """Date.now() of a frozen Date threw a TypeError, and one that a page put in its place was never called."""
    wanted = {"instance": [True, True, False], "kind": ["[object Date]", "function", "Date", 7, "string"],
              "constructors": [True] * 3, "invalid": [True, True], "performanceMoves": True, "replaced": 7,
              "described": True, "frozen": [True, True], "subclass": [True, True, 1, 42, 2013], "reflected": True}
    assert {name: loads[0][name] for name in wanted} == wanted
