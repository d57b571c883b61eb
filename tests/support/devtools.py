"""Chrome DevTools' own HAR importer, the one behind "Import HAR file" in its network panel, run in headless Chrome.

DevTools comes with Chrome as ordinary web pages (devtools://devtools/bundled/). In one of them its importer is called,
as the network panel calls it, and what it made of each archive is handed back. It throws where a field it needs is
missing.
"""

import json
import os
import sys
import tempfile
from typing import Any

from harness.bootstrap import ROOT
from harness.system.privileges import browsing_user
from tests.support.ran import ran

CHROME = """
import json, sys
from pathlib import Path
from harness.browser.chrome import ChromeSettings, deterministic_script, start
from harness.browser.program import find_browser
from harness.system.privileges import User, become
archives, (work_dir, uid, gid) = json.load(sys.stdin), sys.argv[1:]
browser = find_browser()
deterministic_script()  # read as root: the project may lie where nobody else can look
become(User("", int(uid), int(gid)))
driver = start(browser, ChromeSettings(Path(work_dir)))
try:
    driver.get("devtools://devtools/bundled/devtools_app.html")
    print(json.dumps([driver.execute_async_script(IMPORT, json.dumps(archive)) for archive in archives]))
finally:
    driver.quit()
"""
IMPORT = """
const [text, done] = arguments;
(async () => {
  const har = await import('devtools://devtools/bundled/models/har/har.js');
  const requests = har.Importer.Importer.requestsFromHARLog(new har.HARFormat.HARRoot(JSON.parse(text)).log);
  return requests.map(request => ({
    url: request.url(), method: request.requestMethod, status: request.statusCode, protocol: request.protocol,
    cached: request.cached(), size: request.resourceSize, transfer_size: request.transferSize,
    duration_ms: request.duration * 1000, mime_type: request.mimeType, connection: request.connectionId,
    kind: request.resourceType().name()}));
})().then(done, problem => done(String(problem)));
"""


def import_hars(*archives: Any) -> list[Any]:
    """Return for each archive the list of requests DevTools shows of it, or its complaint as a string."""
    user = browsing_user()
    with tempfile.TemporaryDirectory(prefix="h", ignore_cleanup_errors=True) as work_dir:
        os.chown(work_dir, user.uid, user.gid)
        done = ran(sys.executable, "-c", f"IMPORT = {IMPORT!r}\n{CHROME}", work_dir, user.uid, user.gid, cwd=ROOT,
                   input=json.dumps(archives))
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found
