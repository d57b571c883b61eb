"""What can be the name of a web site's host, wherever one comes from: a mirror's folders, logs, lists of hosts.

Such a name becomes a folder, a word in the lists that servers and Chrome are told by, and a part of Chrome's rules for
names: with a line break, a comma or a slash in it, it would say more there than a name.
"""

import re

LONGEST = 253
"""Characters of a name without the root's dot at its end (RFC 1035: 255 bytes on the wire)."""
_LABEL = r"[A-Za-z0-9_-]{1,63}"
_NAME = re.compile(rf"(?!-)(?:{_LABEL}\.)*{_LABEL}\.?", re.ASCII)
_OF_ANOTHER_SCRIPT = "xn--"


def is_host_name(text: str) -> bool:
    """Say whether `text` can be the name of a web site's host, or its IPv4 address, in ASCII.

    Other scripts have IDNA's form, ``xn--`` and Punycode (RFC 3492). Underscores are there: browsers ask for them.
    """
    return len(text.removesuffix(".")) <= LONGEST and _NAME.fullmatch(text) is not None and all(
        _is_punycode(label[len(_OF_ANOTHER_SCRIPT):]) for label in text.lower().split(".")
        if label.startswith(_OF_ANOTHER_SCRIPT))


def _is_punycode(text: str) -> bool:
    try:
        return bool(text) and not text.encode("ascii").decode("punycode").isascii()
    except (UnicodeError, OverflowError):
        return False
