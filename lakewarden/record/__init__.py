"""The record of changes as anybody can check it: chained digests, a Merkle tree, signed checkpoints.

Needs no console and no Django.  Checking a signature needs the package `cryptography`; nothing else does.
"""
