"""Many sites on many machines: which units there are, who measures them (Dask), and statistics over all sites.

    plan.py         the units of a sweep: a site's recording under one combination of settings, with its key
    recordings.py   a site's own recording: found among those installed, or made by fetch.py
    parcel.py       a folder as bytes, and back: how recordings reach workers, and results come home
    folder.py       sweep-NAME/: what is done, kept so that nothing is lost when a process or a machine dies
    outcome.py      what came of a unit: site.json
    measuring.py    a worker's side: one unit, measured whole by tfo.py on this machine
    calibration.py  what a machine measures on pages that are known: are its numbers comparable with others'?
    tasks.py        the only functions that workers run for a driver
    trust.py        certificates, and pickles that hold data and these functions alone
    cluster.py      scheduler and worker as processes, hosts.py by SSH; scheduler.py and worker.py are what runs in them
    driver.py       hands out units, keeps results;  tally.py  how many are done;  replicas.py  who is measured twice
    workers.py      the workers as the driver knows them; dismisses machines whose numbers cannot be used
    site_rows.py, tables.py     every site and every load as rows;  over_sites.py  statistics over sites
    sections.py, figures.py, report.py      the report that people read
    options.py, commands.py     the command line
"""
