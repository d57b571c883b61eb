"""What the parts of one run of scripts/test.sh share."""

SHARED = "TFO_LAB_TEST_SHARED"
"""The environment's variable that names their folder: a recording that both use, the temporary folders of each."""
