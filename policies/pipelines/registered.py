"""Every pipeline, in the order people read them; importing one registers it."""

from policies.pipelines import effective

__all__ = ["effective"]
