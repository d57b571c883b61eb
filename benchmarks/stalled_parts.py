"""The parts of a running experiment that benchmarks/stall.py can stop."""

PARTS = ("delay line", "one server", "all servers", "network process", "renderer", "everything")
MARKS = {"delay line": "delay_line.py", "one server": "http_tfo.py", "all servers": "http_tfo.py",
         "network process": "network.mojom.NetworkService", "renderer": "--type=renderer"}
"""What stands in the command lines of a part's processes."""
