"""Chrome DevTools' own HAR importer, the one behind "Import HAR file" in its network panel, run in headless Chrome.

DevTools comes with Chrome as ordinary web pages (devtools://devtools/bundled/). In one of them its importer is called,
as the network panel calls it, and what it made of each archive is handed back. It throws where a field it needs is
missing.
"""

import json
from typing import Any

from tests.support.own_chrome import answer_of

CHROME = """
driver = start(browser, ChromeSettings(Path(work_dir)))
try:
    driver.get("devtools://devtools/bundled/devtools_app.html")
    print(json.dumps([driver.execute_async_script(IMPORT, json.dumps(archive)) for archive in json.load(sys.stdin)]))
finally:
    end(driver)
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


def import_hars(*archives: Any) -> Any:
    """Return for each archive the list of requests DevTools shows of it, or its complaint as a string."""
    return answer_of(f"IMPORT = {IMPORT!r}\n{CHROME}", given=json.dumps(archives))
