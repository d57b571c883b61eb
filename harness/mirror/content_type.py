"""The Content-Type of a replayed body: as recorded, else by the file's extension, else none: Chrome looks into it then.

Source: WHATWG MIME Sniffing standard, section 7.
"""

import mimetypes
import re
from posixpath import splitext

MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
CHARSET = re.compile(r"[\w.:+-]+", re.ASCII)
_extensions = mimetypes.MimeTypes(filenames=())    # the same on every machine: /etc/mime.types is not read


def content_type(told: str, name: str) -> str:
    """Return the Content-Type value of a body that stands in the file `name`, "" where nobody knows it.

    `told` is the recorded type, and a charset behind it: either may be missing, or nonsense.
    """
    mime, _, charset = map(str.strip, told.partition("; charset="))
    if not MIME_TYPE.fullmatch(mime):
        mime = _by_extension(name) or ""
    if mime and CHARSET.fullmatch(charset) and charset not in ("nil", "none", "None"):
        return f"{mime}; charset={charset}"
    return mime


def _by_extension(name: str) -> str | None:
    path = name.partition("?")[0].partition("#")[0]
    return _extensions.types_map[True].get(splitext(path)[1].lower())
