"""The machinery the scripts of TFO Lab are written in terms of: one idea a module."""
