"""From a mirror to answers on a socket."""
