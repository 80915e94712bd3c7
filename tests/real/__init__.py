"""Against servers of others, run beside the tests: `make real`.

Each folder is one server.  What it is made of stands with checksums in `pins/<server>.tsv`.
"""
