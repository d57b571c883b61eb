"""A network with slow, dead and refusing addresses, made to order, for star.py to measure racing in.

Needs root, Linux, and the rest of the project (Mininet's star, in harness.network.nodes); the package connie needs
none of it.
"""
