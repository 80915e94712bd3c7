"""The record: changes as sentences, the archive, the access log, and whether the record is whole."""
