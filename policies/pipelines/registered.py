"""Every pipeline, in the order people read them; importing one registers it."""

from policies.pipelines import archive, effective, least_privilege

__all__ = ["archive", "effective", "least_privilege"]
