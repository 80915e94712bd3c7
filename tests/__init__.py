"""The tests; a package, so that `tests.requests` is not taken for the library of that name."""
