"""Pages that others recorded: each module reads one kind of source into harness.record.sources.answers.

Whatever the source, Chrome loads the page from it (harness.record.sources.server answers each of its requests), and
what it loads is recorded as if it came from the Internet: so verdict and format are those of a recording of our own.
"""
