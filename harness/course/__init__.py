"""The course's rules for myURLS.pages, and the hand-in."""
