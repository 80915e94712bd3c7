"""Help: the words of the console and where to read on."""
