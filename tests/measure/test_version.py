"""The digest by which --resume and a sweep tell programs apart."""

from pathlib import Path

import pytest

from harness.measure import version


def test_the_digest_is_of_what_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "ROOT", tmp_path)
    digests = []
    for name, text in (("tfo.py", "a"), ("harness/measure/loads.py", "a"), ("harness/measure/loads.py", "b"),
                       ("tfo-test/shim.c", "a"), ("harness/show/table.py", "a"), ("docs/results.md", "a")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        version.program_digest.cache_clear()
        digests.append(version.program_digest())
    version.program_digest.cache_clear()
    assert len(set(digests)) == 4
    assert digests[3] == digests[4] == digests[5], "tables and texts change no load"
