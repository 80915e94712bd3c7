"""Every pipeline, in the order people read them; importing one registers it."""

from policies.pipelines import effective, least_privilege

__all__ = ["effective", "least_privilege"]
