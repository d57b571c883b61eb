"""What a recording holds for a page, and how much of that a load got: ``held.jsonl``, a page a line.

`recorded` are exchanges of https://one.test/: a name and what is unusual (`at` in s from the load's begin, `more` of a
HAR's entry). The page `held` so many bytes of each name, of a `load` of Chrome's or not. Of `loads` with answers, each
[name, which of its recorded answers, what is unusual], `got` answers and bytes count as come.
"""

from dataclasses import replace
from pathlib import Path

from harness.files.load_parts import ReceivedAnswer, ReceivedAnswers
from harness.files.pages import sanitise
from harness.measure.coverage import RecordedPage, coverage, recorded_page
from harness.mirror.recording import Recording, read_recording
from tests.support.noted import JsonObject, of_lines
from tests.support.recording import MadeRecording

PAGE = "https://one.test/"


def got(recording: Recording, held: RecordedPage, load: JsonObject) -> list[int]:
    each = []
    for name, number, known in load["answers"]:
        found = recording.exact_url(f"{PAGE}{name}")
        identity = "" if number is None else found[number].identity
        each.append(replace(ReceivedAnswer(f"{PAGE}{name}", "exact", identity, 200, 4), **known))
    cached = tuple(recording.exact_url(f"{PAGE}{name}")[0].identity for name in load.get("cached", ()))
    cover = coverage(ReceivedAnswers(0, 0, 0, 0, tuple(each), from_cache=cached), held)
    return [cover.got, cover.got_bytes]


@of_lines("corpus/held.jsonl")
def test_what_a_page_holds_and_what_loads_got(case: JsonObject, tmp_path: Path) -> JsonObject:
    made = MadeRecording(tmp_path)
    for name, known in case["recorded"]:
        made.add(f"{PAGE}{name}", known.get("body", "page") or None, known.get("type", "image/gif"),
                 **{key: known[key] for key in ("status", "method", "asked", "post") if key in known},
                 **known.get("more", {}))
        if "at" in known:
            made.entries[-1]["startedDateTime"] = f"2026-11-26T10:00:0{known['at']:.3f}Z"
    made.add_files({f"one.test/{file}": text for file, text in case.get("files", {}).items()})
    made.finish(PAGE)
    recording = read_recording(tmp_path / "Web", tmp_path / "Web.fetchlog")
    held = recorded_page(recording, tmp_path / "Web", sanitise(PAGE))
    names = {identity: answer.url.removeprefix(PAGE) for identity, answer in held.answers.items()}
    return {"held": sorted([names[identity], size] for identity, size in held.sizes.items()),
            "load": held.of_a_load and None,
            "paced": [[answer.url.removeprefix(PAGE), answer.slow_ms] for answer in held.answers.values()
                      if answer.arrivals or answer.slow_ms] or None,
            "loads": [load | {"got": got(recording, held, load)} for load in case.get("loads", ())] or None}
