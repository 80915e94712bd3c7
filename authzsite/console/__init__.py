"""The console: the rooms a person walks with a browser.

It asks the domain and draws; it decides nothing.
"""
