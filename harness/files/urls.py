"""URLs as browsers ask for them (https://url.spec.whatwg.org), whoever wrote them down, and how."""

import ada_url


def as_browsers_ask(url: str, base: str | None = None) -> str:
    """Return `url`, seen from `base`, as browsers ask for it; "" when it is none.

    Sites redirect to HTTPS://A.test, too, and not all programs write down what was asked for in the end.
    """
    try:
        return str(ada_url.URL(url, base).href)
    except ValueError:
        return ""


def document_url(url: str) -> str:
    """Return `url` as browsers ask a server for it, without its fragment; as it is when it is none.

    http://a.test, HTTP://A.test:80/ and http://a.test/#top are the same.
    """
    return as_browsers_ask(url).partition("#")[0] or url
