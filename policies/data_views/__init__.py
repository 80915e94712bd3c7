"""Whole views of a realm, read in parts by programs, each part pinned to the same revision.

`pinned` says what a reading is pinned to and cuts its keys into ranges, `views` lists what can be read, the
other modules make the rows of each view.
"""
