"""scripts/submission.sh: what it takes, what it refuses and says, and what is in the zip."""

import codecs
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.pages import sanitise
from harness.show.console import HEADER
from tests.support.forked import typed
from tests.support.ran import ran

URLS = ["https://www.example.org/", "http://example.com/a?b=c", "https://www.example.co.uk/x"]
LOGIN = "gburdell3"
ZIP = f"{LOGIN}_p3.zip"


def table(urls: list[str], plt: str = "1.709\t1.670\t2.28%") -> str:
    rows = "".join(f"{sanitise(url)}\n\t20\t{plt}\n\t100\t{plt}\n" for url in urls)
    return f"{HEADER}\n{rows}\nPLT: from navigationStart.\n"


def write(directory: Path, observations: str | bytes | None = None, urls: list[str] | None = URLS) -> None:
    if urls is not None:
        (directory / "myURLS.pages").write_text("\n".join(urls))
    content = f"I saw this:\n{table(URLS)}So TFO helps.\n" if observations is None else observations
    (directory / "observations.txt").write_bytes(content if isinstance(content, bytes) else content.encode())


def submit(directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return ran(ROOT / "scripts" / "submission.sh", "--dir", directory, *arguments, cwd="/")


def pack(directory: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Do what the script does once it has read its options."""
    return typed("-m", "harness.course.submission", *options, directory, LOGIN)


def assert_refused(directory: Path, *lines: str) -> None:
    """The standard error has these beginnings of lines, after the directory, and no others; nothing is written."""
    done = pack(directory)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == len(lines), done.stderr
    for said, wanted in zip(done.stderr.splitlines(), lines, strict=True):
        assert said.startswith(f"{directory}/{wanted}"), said
    assert not list(directory.glob("*.zip"))


@pytest.mark.root
@pytest.mark.parametrize("of_user", [True, False])
def test_with_sudo_the_zip_is_the_users_or_none(open_to_all: Path, of_user: bool, monkeypatch: pytest.MonkeyPatch,
                                                ) -> None:
    write(open_to_all)
    os.chown(open_to_all, 1234 if of_user else 0, -1)
    monkeypatch.setenv("SUDO_UID", "1234")
    done = submit(open_to_all, LOGIN)
    if of_user:
        assert (done.returncode, (open_to_all / ZIP).stat().st_uid) == (0, 1234), done.stderr
    else:
        assert (done.returncode, done.stderr) == (2, f"{open_to_all / ZIP}: cannot be written (Permission denied); "
                                                     "give another --dir\n")
        assert not list(open_to_all.glob("*.zip"))


def test_zip_holds_exactly_the_two_files(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "other.txt").write_text("not to be handed in")
    done = submit(tmp_path, LOGIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert f"{ZIP}: " in done.stdout
    with zipfile.ZipFile(tmp_path / ZIP) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            name: (tmp_path / name).read_bytes() for name in ("observations.txt", "myURLS.pages")}
    assert {path.name for path in tmp_path.iterdir()} == {"other.txt", "observations.txt", "myURLS.pages", ZIP}


def test_a_zip_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / ZIP).write_text("old")
    done = submit(tmp_path, LOGIN)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{tmp_path / ZIP}: is there already; ")
    assert (tmp_path / ZIP).read_text() == "old"
    assert submit(tmp_path, "--force", LOGIN).returncode == 0
    assert zipfile.is_zipfile(tmp_path / ZIP)


@pytest.mark.parametrize("changed", [
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: text.replace("\t", "    ").encode(),
    lambda text: b"\xe9crit en latin-1\n" + text.encode(),
    lambda text: text.encode("utf-8-sig"),
    lambda text: text.replace("\t20\t", "\trecorded 12-180\t").replace("\t100\t", "\trecorded 240\t").encode(),
    lambda text: text.encode() + table(URLS[:1], "-\t-\t-").encode(),
    lambda text: text.replace(sanitise(URLS[1]), f"\n{sanitise(URLS[1])}").encode(),
    lambda text: text.replace("1.709\t1.670\t2.28%", "1.7\t2.0\t-17.65%").encode(),
    lambda text: f"I saw\n```text\n{text}```\n".encode(),
    lambda text: "".join(f"    {line}\n" for line in text.splitlines()).encode(),
    lambda text: "".join(f"> > {line}\n" for line in text.splitlines()).encode(),
    lambda text: "".join(f"   {line}\n" for line in ("```", *text.splitlines(), "```")).encode(),
    lambda text: "".join(f"`{line}`\n" for line in text.splitlines()).encode(),
    lambda text: "".join(f"| {line.replace(chr(9), ' | ')} |\n" for line in text.splitlines()).encode(),
    lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
], ids=["windows", "spaces", "latin-1", "byte order mark", "--rtt recorded", "measured once, not twice",
        "blank lines", "slow-down", "fenced", "code block", "quoted", "fenced in a list", "backticks", "Markdown table",
        "UTF-16", "UTF-16 of others"])
def test_tables_as_editors_and_runs_leave_them(tmp_path: Path, changed: "object") -> None:
    assert callable(changed)
    write(tmp_path, changed(table(URLS)))
    done = pack(tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("observations", "lines"), [
    ("", ["observations.txt:1: is empty; "]),
    (" \n\n", ["observations.txt:1: is empty; "]),
    ("TFO is good.\nVery.\n", ["observations.txt:2: holds no table; "]),
    (f"{HEADER}\n", [f"observations.txt:1: no table has rows of {url} " for url in URLS]),
    (table(URLS[:1]), [f"observations.txt:6: no table has rows of {url} " for url in URLS[1:]]),
    (table(URLS[:2]) + table(URLS[2:], "1.709\t-\t-"), [f"observations.txt:13: {URLS[2]} was not measured "]),
    (table(URLS).replace(HEADER, "Page RTT"), ["observations.txt:12: holds no table; "]),
    (table(URLS).replace(sanitise(URLS[1]), "I think that"), [f"observations.txt:12: no table has rows of {URLS[1]} "]),
], ids=["empty", "blank", "words", "header", "one page", "half measured", "other header", "page's name gone"])
def test_observations_without_what_must_be_in_them(tmp_path: Path, observations: str, lines: list[str]) -> None:
    write(tmp_path, observations)
    assert_refused(tmp_path, *lines)


def test_missing_files(tmp_path: Path) -> None:
    assert_refused(tmp_path, "myURLS.pages:1: no such file; ")
    write(tmp_path)
    (tmp_path / "observations.txt").unlink()
    assert_refused(tmp_path, "observations.txt:1: cannot be read (there is no such file); ")


def test_pages_against_the_rules(tmp_path: Path) -> None:
    write(tmp_path, urls=[URLS[0], "ftp://example.com/", "http://example.org/other"])
    assert_refused(tmp_path, "myURLS.pages:2: not a URL: ", "myURLS.pages:3: http://example.org/other belongs to ")


@pytest.mark.parametrize("arguments", [(), ("a", "b"), ("../a",), ("a/b",), ("--frce", "a"), ("",), ("a b",),
                                       ("--dir",)])
def test_bad_use_is_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write(tmp_path)
    done = submit(tmp_path, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("submission.sh: ")
    assert not list(tmp_path.rglob("*.zip"))
