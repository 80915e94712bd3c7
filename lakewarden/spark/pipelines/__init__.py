"""Pipelines over a snapshot of one realm, for Spark: `python -m lakewarden.spark.pipelines NAME --input …`.

What is worked out is worked out with sets of people (`crowds`), level by level, and never for one person and
one object at a time.  What the sets are asked comes from the dialect's own tables.
"""
