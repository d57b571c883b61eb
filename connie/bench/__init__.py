"""Measure what racing connects buys: `python -m connie.bench HOST`, and what connie's star measures with."""
