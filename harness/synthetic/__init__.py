"""The pages the project makes for itself: ``Paper/`` and ``Paper.fetchlog/`` without the Internet.

`paper-2013.tsv` holds the figures of the paper's four pages as they were in March 2013: for every resource its host,
type, size, URL length, cause and redirect, and nothing of their content. From it, and a seed, come pages which Chrome
loads with the same number of requests, to the same hosts, of the same sizes, each request caused by the same resource
as in 2013:

    shape      reads the figures
    found      tells from two loads of a page how its requests were found
    measured   makes a page's shape of it
    plan       decides how each resource is loaded, by whom and when (the rules are in its docstring)
    urls       URLs of the given lengths
    text       HTML, CSS, script, JSON and prose padded to the given number of bytes
    loading    the code and tags by which one resource requests another
    content    the bytes of each resource
    images     PNG, JPEG and GIF of the given number of bytes
    fetchlog   the log a recording of the page would have left
    build      writes all of it, and puts it in place when it is complete

The contents depend on the figures and the seed only; nothing in the pages depends on time or randomness.

Checked with real Chrome (Chromium 156, 100 ms RTT, 4 Mbit/s and a connection for each request) by
``pytest -s tests/synthetic/test_synthetic_chrome.py``, which prints these figures: every page makes exactly the
requests of 2013, each once, and their order is that of 2013 with Kendall's tau (1 the same, 0 unrelated, -1 reversed)

    page                resources   tau, all   tau, among the children of one parent
    www.amazon.com             68       0.81   0.96
    www.nytimes.com            54       0.95   0.94
    www.wsj.com               133       0.89   0.86
    en.wikipedia.org           29       0.97   0.96
"""
