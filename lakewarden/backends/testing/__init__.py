"""The contract suite that every backend passes, and what its tests are made of."""
