"""Connecting a catalog or realm to a system: where it may lead, whose it is, and a trial first."""
