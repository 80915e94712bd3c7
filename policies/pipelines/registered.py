"""Every pipeline, in the order people read them; importing one registers it."""

from policies.pipelines import archive, drift, effective, least_privilege

__all__ = ["archive", "drift", "effective", "least_privilege"]
