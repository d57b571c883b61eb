"""User-mode Linux (scripts/uml.sh), where tests run that need netem and a kernel that has none."""

from pathlib import Path

KERNEL = Path("/usr/bin/linux.uml")
NO_BOOT = "User-mode Linux did not boot"
"""What uml.sh says where the machine does not let that kernel start."""
