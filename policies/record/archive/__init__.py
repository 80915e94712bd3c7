"""Old history moved to files and still one history with what is live.

`retention` says what is old, `files` writes and reads the archives, `moving` takes what they hold out of the
live tables, `reading` brings it back for verification, exports or searches (docs/adr/0015).
"""
