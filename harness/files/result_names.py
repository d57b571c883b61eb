"""What a run's results are called in its folder (--dir): the one owner of these names."""

CLIENT = "client"
"""Folder: the text log, HAR and record of each load (harness.files.results)."""
SERVER_LOGS = "serverlogs"
"""Folder: what each server saw (harness.files.server_log)."""
FIGURES = "output-figures"
"""Folder: figures and report."""
HACK_DNS = "hack_dns"
"""File: which address stands for which site (harness.files.hack_dns)."""
RUN_OPTIONS = "run.options"
"""File in CLIENT: the options that run.sh was given, a word a line, for its --resume."""
RUN_LOG = "run.log"
"""File in CLIENT: what was printed."""
KEPT_LOGS = (".chromedriver.log", ".load_page.log")
"""Endings of what those programs said during a load that failed."""
BESIDE = (".json", ".har", ".pcap", *KEPT_LOGS)
"""Endings of the files that stand beside a page's log."""
