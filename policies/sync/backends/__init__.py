"""One folder for each kind of backend; `kinds.py` lists them."""
