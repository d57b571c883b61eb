"""Chrome's net-log, and what is made of it: transactions, text log, HAR, bodies."""
