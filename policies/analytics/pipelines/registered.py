"""Every pipeline, in the order people read them; importing one registers it."""

from policies.analytics.pipelines import archive, drift, effective_access, unused_grants

__all__ = ["archive", "drift", "effective_access", "unused_grants"]
