"""How values are shown: small parts, lists, words, dates, links and drawings."""
