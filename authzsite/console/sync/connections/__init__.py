"""Connecting realms and catalogs to the systems behind them, and reading what those hold."""
