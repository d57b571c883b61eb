#!/bin/sh
# The VM's password, for ssh (SSH_ASKPASS): everyone knows it, and its port is open to this machine only.
echo mininet
