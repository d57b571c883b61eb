"""Counts and sizes in the words of a person."""

from collections.abc import Mapping


def size(count: int) -> str:
    """Return a number of bytes: ``1.2 MB``."""
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.1f} KB"


def counted(counts: Mapping[str, int]) -> str:
    """Return ``2 x this, 1 x that``."""
    return ", ".join(f"{count} x {what}" for what, count in counts.items())
