"""Many sites on many machines: which units there are, who measures them (Dask), and statistics over all sites.

    options.py      the command line, and what a sweep was asked for
    plan.py         the units of a sweep: a site's recording under one combination of settings, with its key
    recordings.py   a site's own recording: cut out of the list's own, or made by fetch.py
    folder.py       sweep-NAME/: what is done, kept so that nothing is lost when a process or a machine dies
    cluster.py      Dask's clusters: on this machine, on others by SSH, or one that is there already
    driver.py       hands out units, keeps results
    measuring.py    a worker's side: one unit, measured whole by tfo.py, and how it ended
    site_rows.py    every site as a row;  over_sites.py  statistics over sites
    sections.py, report.py      the report that people read, and the tables
"""
