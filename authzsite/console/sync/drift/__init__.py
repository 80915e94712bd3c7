"""Where a backend differs: grants made outside, what is refused, and what is decided about each."""
