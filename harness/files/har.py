"""The words of our HAR files that more than one program must know; HAR itself is described in harness.netlog.har."""

import re

H2 = "h2"
"""HTTP/2: the name by which TLS agrees on it (ALPN, RFC 9113, section 3.1), and what `httpVersion` says of it."""
UNFINISHED = "unfinished"
"""What `_error` says of a request that was not over when the load ended."""
STRIPPED = re.compile(r"\[(\d+) bytes were stripped\]")
"""What Chrome's net-log has in place of a cookie or a credential: how long it was."""
