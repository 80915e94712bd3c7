"""The record of changes as anybody can check it: chained digests, a Merkle tree, signed checkpoints.

Needs no console, no Django and no package; `cryptography` checks signatures where it is installed.
"""
