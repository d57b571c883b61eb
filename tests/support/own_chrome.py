"""A script that drives a Chrome of its own as the experiment does: by a user without rights, in its sandbox."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.bootstrap import ROOT
from harness.system.privileges import browsing_user, give, passable_temp_root
from tests.support.ran import ran

PREAMBLE = """
import json, shutil, sys
from pathlib import Path
from harness.browser.chrome import ChromeSettings, deterministic_script, end, start
from harness.browser.program import find_browser, require_shim
from harness.system.privileges import User, become
work_dir, uid, gid, *words = sys.argv[1:]
browser = find_browser()
deterministic_script()  # read as root, as the shim is: the project may lie where nobody else can look
shim = Path(shutil.copy(require_shim(), work_dir))
become(User("", int(uid), int(gid)))
"""


ASKED = """
driver = start(browser, ChromeSettings(Path(work_dir)))
driver.set_script_timeout(300)
try:
    found = []
    for url, function in json.load(sys.stdin):
        driver.get(url)
        found.append(driver.execute_async_script(
            f"({function})().then(arguments[0], problem => arguments[0]('failed: ' + problem))"))
    print(json.dumps(found))
finally:
    end(driver)
"""


def asked(*asks: tuple[str, str]) -> Any:
    """Load each URL in one Chrome after the other, and return what its asynchronous JavaScript function says there."""
    return answer_of(ASKED, given=json.dumps(asks))


def answer_of(script: str, *words: str, given: str = "") -> Any:
    """Run `script` behind PREAMBLE, whose names it uses, with `given` as its input; return the JSON it prints.

    `words` are its arguments; `work_dir` is a directory for Chrome's profile, a short name, since a socket lies below.
    """
    user = browsing_user()
    with TemporaryDirectory(prefix="c", dir=passable_temp_root(), ignore_cleanup_errors=True) as work_dir:
        give(Path(work_dir), user)
        done = ran(sys.executable, "-c", PREAMBLE + script, work_dir, user.uid, user.gid, *words,
                   cwd=ROOT, input=given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
