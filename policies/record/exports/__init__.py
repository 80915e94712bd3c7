"""The record in the forms in which it leaves the site: plain entries, OCSF, whole changes to be checked."""
