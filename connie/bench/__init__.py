"""Measure what racing connects buys: what conbench.py, httpbench.py and star.py are written in terms of."""
