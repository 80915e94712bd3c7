"""These tests ask the law of CDAP over a database."""

from __future__ import annotations
