"""The pages the project makes for itself: ``Paper/`` and ``Paper.fetchlog/`` without the Internet.

`paper.tsv` holds the shape of the paper's four pages as they were recorded in March 2013 and as today's Chrome loads
them: for every resource its host, type, size, URL length and cause, and nothing of their content. From it, and a seed,
come pages which Chrome loads with the same number of requests, to the same hosts, of the same sizes, each request
caused by the same resource:

    shape      reads the figures
    measured   makes a page's shape of two loads of it
    found      says how each request of these was found: as Chrome says, or by an event
    places     says where requests stand in the texts of documents
    page_plan  says how each resource is loaded, by whom and when (the rules are in its docstring)
    page_code  the code and tags by which one resource requests another
    content    the bytes of each resource
    padding    texts and images of the given number of bytes
    build      writes all of it and the log that a recording would have left, and puts it in place when it is complete

The contents depend on the figures and the seed only; nothing in the pages depends on time or randomness.

How near they come to the real pages is measured in docs/synthetic.md.
"""
