"""What the pipelines are doing and what they found: runs, the overview of a realm, and hints."""
