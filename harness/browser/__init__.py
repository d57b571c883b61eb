"""Chrome: where it is, how it is started, and what is injected into pages."""
