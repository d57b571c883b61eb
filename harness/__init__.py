"""The machinery that the programs of TFO Lab are written in terms of.

One page load's way through it, from left to right; each arrow is files on disk:

    NAME.pages --fetch.py--> NAME/ + NAME.fetchlog/ --tfo.py--> client/ + serverlogs/ --plot.py--> table, report
                 record         mirror    replay     measure        files               analysis, show

A package imports only packages of a lower layer, never one of its own (checked by scripts/check.sh):

    layer 7   sweep       many sites on many machines, by Dask
    layer 6   measure     one experiment: plan, load, judge, write
              course      the course's rules for myURLS.pages, and the hand-in
    layer 5   record      the Internet, or what others recorded -> mirror
    layer 4   synthetic   pages the project makes itself: figures -> mirror
              replay      mirror -> answers on a socket
              show        analysis -> table, figures, HTML
    layer 3   mirror      a recording: where bodies are, and what each URL answers
              network     star, delay, RTT, and the programs on its hosts
              browser     Chrome: where it is, how it is started, what is injected into pages
              netlog      Chrome's net-log -> transactions -> text log, HAR, bodies
              analysis    reads files only: which loads count, medians, intervals, causes, prediction
    layer 2   files       the formats that the steps hand each other
    layer 1   system      this machine: processes, users, namespaces, kernel switches and counters, lock, signals
    layer 0   errors, bootstrap     what everything may use

Above them stand the programs (run.sh, sweep.py, tfo.py, fetch.py, plot.py, tfo-test/, scripts/, experiments/), which
nobody imports. docs/contributing.md says where to add what.
"""
