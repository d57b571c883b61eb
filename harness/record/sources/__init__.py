"""Pages that others recorded: each kind of source yields exchanges (har, warc, wayback).

They are written as a recording of our own format (temporary), by a child with limits (reader); the replay servers
answer from it on loopback (served), and Chrome's load of that is recorded as any other (harness.record.recorder). So
verdict and format are those of a recording of our own. Afterwards it gets what the source knows (restored).
"""
