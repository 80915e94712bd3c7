"""Business object definitions and formats, and the policies on where their data are stored.

They are kept and guarded; no data are moved and no DDL is made.
"""
