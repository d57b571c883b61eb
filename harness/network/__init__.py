"""The simulated network: star, delay, RTT, and the programs on its hosts."""
