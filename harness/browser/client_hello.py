"""Chrome's ClientHello, and why it has to be made smaller for an experiment with TCP Fast Open.

A SYN carries what fits into one packet: 1420 bytes at most, of the server's MSS of 1460. Today's ClientHello holds a
post-quantum key share (X25519MLKEM768, 1216 bytes) and has 1920 to 1990. Its end waits for the SYN-ACK, the server can
answer only then, and TFO saves nothing (measured at an RTT of 100 ms, three connections in a row: 1.11 s with and
without). Chrome 156 has neither a switch nor a policy for it. So the shim replaces the table of key exchange groups in
Chrome's memory by one without post-quantum groups, as it was before Chrome 124: 740 bytes, which a SYN carries (1.14 s
without, 0.87 s with TFO).
"""

GROUPS = bytes.fromhex("ec110100 1d000100 17000000 18000000")
"""kDefaultSSLSupportedGroups in Chromium's net/ssl/ssl_config_service.cc, as it lies in the file: X25519MLKEM768 and
X25519 with their keys, P-256, P-384 (IANA's numbers of TLS supported groups, little-endian)."""
