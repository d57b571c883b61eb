"""This machine: processes, users, namespaces, kernel switches and counters, the lock, signals."""
