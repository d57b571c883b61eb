"""The parts of an experiment that disturbed.py has stall.py stop, and how their processes are known."""

PARTS = ("delay line", "one server", "all servers", "network process", "renderer", "everything")
MARKS = {"delay line": "delay_line.py", "one server": "http_tfo.py", "all servers": "http_tfo.py",
         "network process": "network.mojom.NetworkService", "renderer": "--type=renderer"}
"""What stands in the command lines of a part's processes."""
