"""Guards Spark sessions: with `lakewarden.spark.guard(spark, realm="demo")` nothing is read unasked."""

from __future__ import annotations

from lakewarden.client import AccessDenied
from lakewarden.spark.analyzer_rule import AlreadyGuarded
from lakewarden.spark.session_guard import Guard, guard

__all__ = ["AccessDenied", "AlreadyGuarded", "Guard", "guard"]
