"""Guards Spark sessions: with `lakewarden.spark.guard(spark, realm="demo")` nothing is read unasked."""

from __future__ import annotations

from lakewarden.client import AccessDenied
from lakewarden.spark.guarding import Guard, guard
from lakewarden.spark.rule import AlreadyGuarded

__all__ = ["AccessDenied", "AlreadyGuarded", "Guard", "guard"]
