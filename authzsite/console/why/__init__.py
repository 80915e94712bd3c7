"""Why somebody may or may not: explanations, drawings, and the catalog checked as somebody else."""
