"""Backends: what mirrors decisions into an outside system needs to know, without the console."""
