"""From the Internet to a mirror."""
