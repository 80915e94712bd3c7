"""Uses, pipelines, figures, and hints where access could be tighter."""
