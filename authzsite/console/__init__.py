"""The console: the rooms a person walks through with a browser.  It asks the domain and draws; it decides nothing."""
