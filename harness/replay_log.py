"""The log file of a replay server, as its process writes it. harness.serverlogs has the format."""

import os
from pathlib import Path

from harness.serverlogs import HEADER, ServerRequest, format_request


class RequestLog:
    """A server's log file. Every line is one write, so the log is whole whenever the server ends."""

    def __init__(self, path: Path, owner: tuple[int, int] | None) -> None:
        """Open `path` for appending, owned by `owner` (uid, gid), and begin it with the header. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
        if owner is not None:
            os.chown(path.parent, *owner)
            os.fchown(self._file, *owner)
        if os.fstat(self._file).st_size == 0:
            os.write(self._file, HEADER.encode())

    def write(self, request: ServerRequest) -> None:
        """Append one line."""
        os.write(self._file, format_request(request).encode())
