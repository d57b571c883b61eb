"""Scripts and modules on the critical path: what they ask for and wait for, and their work on the main thread."""

import pytest

from harness.analysis.critical_path import Step
from tests.support.critical_paths import RTT_MS, connects, path_of, saving
from tests.support.made_har import PAGE, MadeLoad


def test_modules_are_caused_by_the_module_that_imports_them() -> None:
    """main.js imports m1.js, that one m2.js, and so on; the last of them over, main.js runs and fetches data."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", referer="")
    importer, depth = PAGE, 20
    for number in range(depth):
        beside = load.add(f"{PAGE}side{number}.js", end + 1, connect=-1, connection=1, referer=importer, wait=60)
        end = load.add(f"{PAGE}m{number}.js", end + 1, connect=-1, connection=1, referer=importer)
        assert beside < end
        importer = f"{PAGE}m{number}.js"
    end = load.add(f"{PAGE}data.json", end + 3, "data", connect=-1, connection=1)
    load.plt_ms = load.add(f"{PAGE}seen.gif", end + 1, "image", connect=-1, connection=1)
    steps = path_of(load)
    waited_for = [step.url.removeprefix(PAGE) for step in steps if step.kind == "wait"]
    assert waited_for == ["", *(f"m{number}.js" for number in range(depth)), "data.json", "seen.gif"]
    assert sum(step.length_ms for step in steps if step.kind == "cpu") == pytest.approx(depth + 4)


@pytest.mark.parametrize("referer", [PAGE, ""])
def test_a_script_that_tells_no_referer_is_the_pages_too(referer: str) -> None:
    """<script referrerpolicy="no-referrer">: the load event right after the parser waited for it."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", referer="")
    load.parsed_ms = load.add("http://cdn.test/lib.js", end + 1, referer=referer) + 4
    load.plt_ms = load.parsed_ms + 1
    assert connects(path_of(load)) == [PAGE, "http://cdn.test/lib.js"]
    assert saving(load) == 2 * RTT_MS


@pytest.mark.parametrize("referer", ["", PAGE, "http://gate.test/"])
def test_a_page_that_a_script_led_to_waits_for_its_document(referer: str) -> None:
    """It sets a cookie and leads to itself, or comes from a question for consent: its document has a Referer."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 3, "document", referer=referer)
    load.add("http://frame.test/", end + 1, "document", wait=60)
    load.parsed_ms = load.add("http://cdn.test/lib.js", end + 1) + 4
    load.plt_ms = load.parsed_ms + 1
    assert connects(path_of(load)) == [PAGE, "http://cdn.test/lib.js"]
    assert saving(load) == 2 * RTT_MS


def test_work_of_the_main_thread_hides_handshakes() -> None:
    """The images come while a script of the document runs: the load event waits for the script, not for them."""
    load = MadeLoad(1_710.0, long_tasks=[(205.0, 1500.0)])
    end = load.add(PAGE, 0, "document", referer="", receive=3)
    for number in range(3):
        load.add(f"http://aside{number}.test/i.gif", end + 1, "image")
    steps = path_of(load)
    assert connects(steps) == [PAGE]
    assert steps[-1] == Step("cpu", 203, 1710, PAGE)
    assert saving(load) == RTT_MS
    load.long_tasks = []
    assert len(connects(path_of(load))) == 2, "without them nothing tells the work from the images' effect"
    load.parsed_ms = 1_708.0
    assert connects(path_of(load)) == [PAGE], "the load event came as soon as the document was parsed"
    load.parsed_ms = 408.0
    assert len(connects(path_of(load))) == 2, "it came long after that"


def test_what_the_main_thread_stands_still_for_is_no_work() -> None:
    """One task of the document's script asks for data three times, each time waits for it, and works between."""
    load = MadeLoad(0.0)
    at = load.add(PAGE, 0, "document", referer="") + 20
    began = at
    for number in range(3):
        at = load.add(f"http://data{number}.test/", at, "data", synchronous=True) + 10
    load.long_tasks = [(began - 20, at - began + 20)]
    load.parsed_ms, load.plt_ms = at + 1, at + 2
    steps = path_of(load)
    assert connects(steps) == [PAGE, *(f"http://data{number}.test/" for number in range(3))]
    assert sum(step.length_ms for step in steps if step.kind == "cpu") == 20 + 3 * 10 + 2
    assert saving(load) == 4 * RTT_MS
    for entry in load.entries:
        entry.pop("_synchronous", None)
    assert connects(path_of(load)) == [PAGE], "data that nobody waits for holds up nothing"


def test_a_module_asks_for_nothing_while_the_main_thread_stands_still() -> None:
    """The module is there, but what it imports is asked for only when a synchronous request has ended, 400 ms later."""
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="")
    load.add("http://js.test/module.js", found + 1)
    first = load.add("http://sync.test/1.json", found + 5, "data", synchronous=True)
    last = load.add("http://sync.test/2.json", first + 1, "data", synchronous=True)
    load.plt_ms = load.add("http://js.test/imported.js", last + 3, referer="http://js.test/module.js")
    assert connects(path_of(load))[1:-1] == ["http://sync.test/1.json", "http://sync.test/2.json"]
    assert saving(load) == 4 * RTT_MS


def test_a_module_that_had_to_wait_for_the_parser_imports_when_it_runs() -> None:
    """It is there, but runs when a blocking script, further down, lets the parser end: import() comes 370 ms later."""
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="")
    load.add(f"{PAGE}module.js", found + 1, connect=-1, connection=1)
    first = load.add("http://a.test/a.js", found + 2)
    last = load.add("http://b.test/b.js", first + 1)
    load.plt_ms = load.add(f"{PAGE}imported.js", last + 10, connect=-1, connection=1, referer=f"{PAGE}module.js")
    assert connects(path_of(load)) == [PAGE, "http://a.test/a.js", "http://b.test/b.js"]
    assert saving(load) == 3 * RTT_MS


def test_an_image_that_ends_while_a_script_works_is_not_what_it_waited_for() -> None:
    load = MadeLoad(0.0)
    found = load.add(PAGE, 0, "document", referer="", receive=5) + 1
    script = load.add(f"{PAGE}first.js", found, receive=50)
    image = load.add("http://aside.test/i.gif", found, "image", wait=script - found - 100 + 60)
    load.plt_ms = load.add("http://two.test/second.js", script + 70, receive=5) + 2
    assert script < image < script + 70
    assert connects(path_of(load)) == [PAGE, f"{PAGE}first.js", "http://two.test/second.js"]
