"""The console: what people see and do in a browser.

It asks the domain and draws; it decides nothing.
"""
