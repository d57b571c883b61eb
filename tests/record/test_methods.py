"""Methods other than those of most pages: what they get while pages that others recorded are brought in."""

from dataclasses import replace

import pytest

from tests.support.served_archive import ask, recorded, serving


@pytest.mark.parametrize("method", ["PROPFIND", "REPORT", "PATCH"])
def test_every_method_gets_what_was_recorded_for_it(method: str) -> None:
    """Nextcloud's pages list their files so. They got 501 of our own, which was recorded as the site's answer."""
    with serving(replace(recorded(207, b"<multistatus/>"), method=method)) as server:
        assert ask(server, method=method)[0] == (207, b"<multistatus/>", None)
