"""CDAP's calls: `/v3/security/authorization/…` and what its containers ask, `/v1/execute/…`."""
