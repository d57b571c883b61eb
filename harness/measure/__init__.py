"""One experiment: plan, load, judge, write."""
