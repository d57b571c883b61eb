"""Recordings in the formats of others: WARC, WACZ, HAR with bodies."""
